/**
 * What the engine says of a query that fails, as a sentence and a place in the editor.
 */

import { TABLES } from '../schema.js';
import { SAY } from './barriers.js';

/**
 * @typedef {object} Trouble
 * @property {string} message sentences
 * @property {number | null} at offset in the whole text; null: nowhere in particular
 * @property {boolean} missingColumn a column was named that the tables, as loaded, do not have
 * @property {boolean} broken the engine itself is of no use any more
 */

/** A query that cannot be answered; the message is for the reader. */
export class QueryError extends Error {
  /**
   * @param {Trouble} trouble
   * @param {unknown} [cause]
   */
  constructor(trouble, cause) {
    super(trouble.message, { cause });
    this.name = 'QueryError';
    this.trouble = trouble;
  }
}

const BROKEN = /function signature mismatch|memory access out of bounds|unreachable|table index is out of bounds|null function|Aborted\(|RuntimeError/i;
const MEMORY = /Out of Memory|failed to allocate|could not allocate|std::bad_alloc|Array buffer allocation|Cannot enlarge memory/i;

/**
 * @param {string} said by the engine
 * @param {{text: string, start: number}} statement and where it stands in the whole text
 * @param {string[]} tables names of all tables
 * @returns {Trouble}
 */
export function troubleOf(said, statement, tables) {
  const parsed = parserError(said);
  const text = parsed?.message ?? said;
  const offset = parsed ? charOffset(statement.text, parsed.position) : caretOffset(text, statement.text);
  const bare = text.split(/\n+LINE \d+:/)[0].trim();
  const trouble = { at: offset === null ? null : statement.start + offset, missingColumn: false, broken: false };
  if (MEMORY.test(bare)) {
    return { ...trouble, broken: true, message: 'The query needs more memory than this browser gives to a page. Name fewer steps or columns, or aggregate.' };
  }
  if (BROKEN.test(bare)) {
    return { ...trouble, broken: true, message: `The engine stopped at this query (${bare.slice(0, 120)}). It starts anew with the next one.` };
  }
  const extension = extensionSentence(bare);
  if (extension) return { ...trouble, message: extension };
  return { ...trouble, message: sentence(bare, tables), missingColumn: /Referenced column|does not have a column|Referenced table|not found in FROM/.test(bare) };
}

/**
 * @param {string} said
 * @returns {{message: string, position: number} | null}
 */
function parserError(said) {
  if (!said.startsWith('{')) return null;
  try {
    const value = JSON.parse(said);
    return { message: String(value.exception_message), position: Number(value.position ?? NaN) };
  } catch {
    return null;
  }
}

/**
 * @param {string} text
 * @param {number} bytes offset in UTF-8
 * @returns {number | null}
 */
export function charOffset(text, bytes) {
  if (!Number.isFinite(bytes)) return null;
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes)).length;
}

/**
 * The place that the engine points to with a caret under an excerpt of a line.
 *
 * @param {string} said
 * @param {string} text of the statement
 * @returns {number | null}
 */
function caretOffset(said, text) {
  const match = /LINE (\d+): (.*)\n( *)\^/.exec(said);
  if (!match) return null;
  const lines = text.split('\n');
  const number = Number(match[1]) - 1;
  const line = lines[number];
  if (line === undefined) return null;
  const column = match[3].length - `LINE ${match[1]}: `.length;
  const cut = match[2].startsWith('...') ? 3 : 0;
  const excerpt = match[2].slice(cut).replace(/\.\.\.$/, '');
  const begin = cut ? line.indexOf(excerpt) : 0;
  if (begin < 0) return null;
  const before = lines.slice(0, number).reduce((sum, one) => sum + one.length + 1, 0);
  return Math.min(before + begin + column - cut, before + line.length);
}

/**
 * @param {string} bare
 * @returns {string | null} a sentence for what only an extension or the network could do
 */
function extensionSentence(bare) {
  if (/configuration has been locked/.test(bare)) return SAY.settings;
  if (/file system operations are disabled|external access/i.test(bare)) return SAY.files;
  if (/Loading external extensions is disabled/.test(bare) && !/'\w+'/.test(bare)) return SAY.extension;
  const name = /exists in the (\w+) extension/.exec(bare)?.[1] ?? /required extension '(\w+)'/.exec(bare)?.[1] ?? /(?:extension|Extension) "?(\w+)"? (?:is|needs)/.exec(bare)?.[1];
  if (!name && !/Missing Extension|Extension Autoloading/.test(bare)) return null;
  if (name === 'json') return SAY.json;
  if (name === 'icu') return /current_date|today/.test(bare) ? SAY.today : SAY.zone;
  if (name === 'parquet') return SAY.files;
  if (name === 'httpfs') return SAY.network;
  return `That needs the extension ${name ?? ''}. ${SAY.extension}`.replace('extension .', 'extension.');
}

/**
 * @param {string} bare message of the engine without its excerpt
 * @param {string[]} tables
 * @returns {string}
 */
function sentence(bare, tables) {
  const plain = bare.replace(/^Error: /, '').replace(/^[A-Z][\w ]+? Error: /, '');
  const table = /^Table with name (.+?) does not exist/.exec(plain)?.[1];
  if (table && table in TABLES) return `This site does not hold the table ${table}; miles-report export reads it from the dump.`;
  if (table) return `There is no table ${table}. ${near(table, tables)}`;
  const column = /^Referenced column "(.+?)" not found in FROM clause!/.exec(plain)?.[1];
  if (column) return `There is no column ${column} here.${candidates(plain)}`;
  const alias = /^Referenced table "(.+?)" not found!/.exec(plain)?.[1];
  if (alias) return `There is no table or alias ${alias} in this query.${candidates(plain)}`;
  const owner = /^Table "(.+?)" does not have a column named "(.+?)"/.exec(plain);
  if (owner) return `${owner[1]} has no column ${owner[2]}.${candidates(plain)}`;
  const called = /^(?:Scalar|Table|Aggregate|Macro|Table Macro|Scalar Macro) Function with name "?(.+?)"? does not exist!(?:\s*Did you mean "(.+?)")?/.exec(plain);
  if (called) return `There is no function ${called[1]}.${called[2] ? ` Did you mean ${called[2]}?` : ''}`;
  const first = plain.replace(/\s*Candidate functions:[\s\S]*/, '').replace(/\s*\n+\s*/g, ' ').trim();
  const whole = `${first.charAt(0).toUpperCase()}${first.slice(1)}`.replace(/!$/, '.');
  return /[.?!]$/.test(whole) ? whole : `${whole}.`;
}

/**
 * @param {string} plain
 * @returns {string}
 */
function candidates(plain) {
  const names = /Candidate (?:bindings|tables): (.+)/.exec(plain)?.[1];
  return names ? ` Near it: ${names.replaceAll('"', '')}.` : '';
}

/**
 * @param {string} name
 * @param {string[]} tables
 * @returns {string}
 */
function near(name, tables) {
  const lower = name.toLowerCase().replace(/^.*\./, '');
  const like = tables.filter(table => table.includes(lower) || lower.includes(table) || table.slice(0, 4) === lower.slice(0, 4));
  return like.length ? `Did you mean ${like.join(' or ')}?` : `There are ${tables.join(', ')}.`;
}
