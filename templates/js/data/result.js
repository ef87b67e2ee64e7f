/**
 * What the engine answers, as plain columns.
 */

import { DataType } from 'apache-arrow';

/**
 * @typedef {'number' | 'integer' | 'text' | 'boolean' | 'time' | 'date' | 'other'} Kind
 *   time: Unix seconds, UTC; date: Unix seconds of its midnight, UTC; other: text, as the engine writes lists and structs
 *
 * @typedef {object} Result
 * @property {import('../types').Frame} frame names are unique
 * @property {Record<string, Kind>} kinds by column
 * @property {boolean} more there were more rows than asked for
 */

/**
 * @param {AsyncIterable<import('apache-arrow').RecordBatch> & {schema: import('apache-arrow').Schema, cancel?: () => any}} reader
 * @param {number} limit rows
 * @returns {Promise<Result>}
 */
export async function resultOf(reader, limit) {
  /** @type {any[][]} */
  let columns = [];
  /** @type {import('apache-arrow').Field[]} */
  let fields = [];
  let length = 0;
  let more = false;
  for await (const batch of reader) {
    if (!fields.length) {
      fields = batch.schema.fields;
      columns = fields.map(() => []);
    }
    const rows = Math.min(batch.numRows, limit - length);
    more = rows < batch.numRows;
    fields.forEach((field, i) => {
      const vector = /** @type {import('apache-arrow').Vector} */ (batch.getChildAt(i));
      const read = readerOf(field.type);
      for (let row = 0; row < rows; row++) columns[i].push(read(vector.get(row)));
    });
    length += rows;
    if (more) break;
  }
  if (!fields.length) {
    fields = reader.schema?.fields ?? [];
    columns = fields.map(() => []);
  }
  const names = uniqueNames(fields.map(field => field.name));
  return {
    frame: { length, names, columns: Object.fromEntries(names.map((name, i) => [name, columns[i]])) },
    kinds: Object.fromEntries(names.map((name, i) => [name, kindOf(fields[i].type)])),
    more,
  };
}

/**
 * @param {string[]} names
 * @returns {string[]} each different: a second "step" becomes "step_1"
 */
export function uniqueNames(names) {
  const seen = new Set();
  return names.map(name => {
    let unique = name;
    for (let i = 1; seen.has(unique); i++) unique = `${name}_${i}`;
    seen.add(unique);
    return unique;
  });
}

/**
 * @param {DataType} type
 * @returns {Kind}
 */
function kindOf(type) {
  if (DataType.isInt(type)) return 'integer';
  if (DataType.isDecimal(type)) return type.scale === 0 ? 'integer' : 'number';
  if (DataType.isFloat(type)) return 'number';
  if (DataType.isBool(type)) return 'boolean';
  if (DataType.isUtf8(type) || DataType.isDictionary(type)) return 'text';
  if (DataType.isTimestamp(type)) return 'time';
  if (DataType.isDate(type)) return 'date';
  return 'other';
}

/**
 * @param {DataType} type
 * @returns {(cell: any) => any}
 */
function readerOf(type) {
  if (DataType.isDecimal(type)) return cell => (cell === null ? null : decimal(cell, type.scale));
  if (DataType.isDate(type)) return cell => (cell === null ? null : Number(cell) / 1000);
  if (DataType.isTimestamp(type)) return cell => (cell === null ? null : Number(cell) / 1000);
  return plain;
}

/**
 * @param {any} cell
 * @returns {any} a number, string, boolean or null; whole numbers beyond 2^53 and everything composed as text
 */
function plain(cell) {
  if (cell === null || cell === undefined) return null;
  if (typeof cell === 'bigint') return Number.isSafeInteger(Number(cell)) ? Number(cell) : String(cell);
  if (typeof cell !== 'object') return cell;
  return JSON.stringify(cell, (_, value) => (typeof value === 'bigint' ? Number(value) : value));
}

/**
 * A decimal, also a sum of whole numbers, as a number.
 *
 * @param {Uint32Array} words lowest first, two's complement
 * @param {number} scale digits behind the point
 * @returns {number | string} text where a whole number is beyond 2^53
 */
export function decimal(words, scale) {
  let value = 0n;
  for (let i = words.length - 1; i >= 0; i--) value = (value << 32n) | BigInt(words[i]);
  value = BigInt.asIntN(32 * words.length, value);
  const number = Number(value);
  if (scale === 0) return Number.isSafeInteger(number) ? number : String(value);
  return number / 10 ** scale;
}
