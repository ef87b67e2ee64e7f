/**
 * What the engine of this page cannot do, said before it is asked: it has no network, no files and no extensions.
 */

import { tableNamed } from './tables.js';

/** @typedef {import('./sql.js').SqlToken} SqlToken */
/** @typedef {import('./sql.js').Statement} Statement */
/** @typedef {import('./tables.js').Table} Table */

/** @typedef {{message: string, start: number, end: number}} Barrier where: offsets in the whole text */

export const SAY = {
  files: "This engine reads no files by name. Write the table's name: from tokens, or from 'tokens.parquet'.",
  network: 'This engine has no network, so httpfs and addresses in FROM do not work. The tables of this report are there by their names.',
  json: 'JSON functions and the JSON type are an extension, which this page never downloads. JSON columns are plain text here: ' +
    'use contains(), regexp_extract() or regexp_extract_all(), or take the table into Python.',
  zone: 'Times with a time zone need an extension, which this page never downloads. All times here are UTC: ' +
    'utc(ts) turns Unix seconds into a TIMESTAMP, which date_trunc(), time_bucket() and strftime() take.',
  today: 'The current date needs an extension, which this page never downloads, and a report does not depend on the day it is read. ' +
    "Write a day as date '2026-02-03', or compare with (select t1 from run).",
  extension: 'This engine has no extensions and never downloads one; everything that it can do is built in.',
  attach: 'There are no other databases here: the engine has neither files nor network.',
  copy: 'Nothing can be written to a file by SQL here. Run the SELECT alone, then use the CSV and Parquet buttons over the result.',
  settings: 'The settings of this engine are locked.',
};

const STATEMENTS = /** @type {Record<string, keyof typeof SAY>} */ ({
  install: 'extension', load: 'extension', force: 'extension', update_extensions: 'extension',
  attach: 'attach', detach: 'attach', use: 'attach', checkpoint: 'attach',
  copy: 'copy', export: 'copy', import: 'files', set: 'settings', reset: 'settings', pragma: 'settings',
});
const FILE_FUNCTIONS = /^(read_(parquet|csv|csv_auto|json|json_auto|json_objects|json_objects_auto|ndjson|ndjson_auto|ndjson_objects|text|blob|xlsx)|parquet_(scan|metadata|schema|file_metadata|kv_metadata|bloom_probe)|sniff_csv|glob)$/;
const JSON_FUNCTIONS = /^(json(_\w+)?|to_json|from_json(_strict)?|row_to_json|array_to_json)$/;
const REMOTE = /^(https?|s3|s3a|gs|gcs|r2|hf|az|azure|abfss?):\/\//i;
const FILE = /\.(parquet|csv|tsv|json|jsonl|ndjson|db|duckdb|txt)(\.gz|\.zst)?$/i;

/**
 * @param {Statement[]} list
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {Barrier | null} the first one
 */
export function barrierOf(list, tables) {
  for (const { tokens } of list) {
    const opening = tokens[0].kind === 'word' ? STATEMENTS[tokens[0].name] : undefined;
    if (opening) return at(tokens[0], SAY[opening]);
    for (let i = 0; i < tokens.length; i++) {
      const found = barrierAt(tokens, i, tables);
      if (found) return found;
    }
  }
  return null;
}

/**
 * @param {SqlToken[]} list
 * @param {number} i
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {Barrier | null}
 */
function barrierAt(list, i, tables) {
  const token = list[i];
  if (token.kind === 'string') return stringBarrier(list, i, tables);
  if (token.text === '->>') return at(token, SAY.json);
  if (token.kind !== 'word' || list[i - 1]?.text === '.') return null;
  const called = list[i + 1]?.text === '(';
  if (called && FILE_FUNCTIONS.test(token.name)) return at(token, SAY.files);
  if (called && JSON_FUNCTIONS.test(token.name)) return at(token, SAY.json);
  if (called && token.name === 'timezone') return at(token, SAY.zone);
  if (called && ['today', 'current_date', 'current_localtime', 'current_localtimestamp'].includes(token.name)) return at(token, SAY.today);
  if (['current_date', 'current_time', 'localtime', 'localtimestamp'].includes(token.name) && !isAlias(list, i)) return at(token, SAY.today);
  if (isType(list, i)) {
    if (token.name === 'json') return at(token, SAY.json);
    if (token.name === 'timestamptz' || (token.name === 'timestamp' && list[i + 1]?.name === 'with')) return at(token, SAY.zone);
  }
  if (token.name === 'at' && list[i + 1]?.name === 'time' && list[i + 2]?.name === 'zone') return at(token, SAY.zone);
  return null;
}

/**
 * @param {SqlToken[]} list
 * @param {number} i of a string
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {Barrier | null} where it stands for a file
 */
function stringBarrier(list, i, tables) {
  const token = list[i];
  const before = list[i - 1]?.name;
  if (before !== 'from' && before !== 'join') return null;
  if (REMOTE.test(token.name)) return at(token, SAY.network);
  if (tableNamed(token.name, tables)) return null;
  return FILE.test(token.name) ? at(token, `${token.name} is no table of this report. ${SAY.files}`) : null;
}

/** @param {SqlToken[]} list @param {number} i @returns {boolean} */
function isAlias(list, i) {
  return list[i - 1]?.name === 'as' || list[i + 1]?.text === '.';
}

/** @param {SqlToken[]} list @param {number} i @returns {boolean} whether a type stands there */
function isType(list, i) {
  const before = list[i - 1];
  if (before?.text === '::') return true;
  return before?.name === 'as' && [')', 'with'].includes(list[i + 1]?.name ?? '') && list.slice(0, i).some(token => /^(try_)?cast$/.test(token.name));
}

/** @param {SqlToken} token @param {string} message @returns {Barrier} */
function at(token, message) {
  return { message, start: token.start, end: token.end };
}
