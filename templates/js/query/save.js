/**
 * A result as a file.
 */

import { parquetWriteBuffer } from 'hyparquet-writer';
import { csv, download } from '../ui/download.js';

/** @typedef {import('../data/result.js').Result} Result */

/**
 * @param {Result} result
 * @param {string} name without its ending
 */
export function saveCsv({ frame, kinds }, name) {
  const columns = Object.fromEntries(frame.names.map(column => [column, Array.from(frame.columns[column], cell => plainText(cell, kinds[column]))]));
  download(`${name}.csv`, csv({ ...frame, columns }));
}

/**
 * @param {any} cell
 * @param {string} kind
 * @returns {any} times as ISO 8601 in UTC, all else as it is
 */
function plainText(cell, kind) {
  if (cell === null || (kind !== 'time' && kind !== 'date')) return cell;
  const text = new Date(cell * 1000).toISOString();
  return kind === 'date' ? text.slice(0, 10) : text;
}

/**
 * @param {Result} result
 * @param {string} name without its ending
 */
export function saveParquet(result, name) {
  download(`${name}.parquet`, new Blob([parquetBytes(result)], { type: 'application/vnd.apache.parquet' }));
}

/**
 * @param {Result} result
 * @returns {ArrayBuffer} a whole Parquet file: whole numbers as INT64, other numbers as DOUBLE, times as TIMESTAMP
 */
export function parquetBytes({ frame, kinds }) {
  return parquetWriteBuffer({
    columnData: frame.names.map(name => ({
      name,
      type: parquetType(frame.columns[name], kinds[name]),
      data: Array.from(frame.columns[name], cell => parquetCell(cell, kinds[name])),
      nullable: true,
    })),
  });
}

/**
 * @param {ArrayLike<any>} cells
 * @param {string} kind
 * @returns {'INT64' | 'DOUBLE' | 'BOOLEAN' | 'TIMESTAMP' | 'STRING'}
 */
function parquetType(cells, kind) {
  if (kind === 'integer') return Array.prototype.some.call(cells, beyond) ? 'DOUBLE' : 'INT64';
  if (kind === 'number') return 'DOUBLE';
  if (kind === 'boolean') return 'BOOLEAN';
  return kind === 'time' || kind === 'date' ? 'TIMESTAMP' : 'STRING';
}

/** @param {any} cell @returns {boolean} whether a whole number needs more than 64 bits */
function beyond(cell) {
  return typeof cell === 'string' && BigInt.asIntN(64, BigInt(cell)) !== BigInt(cell);
}

/** @param {any} cell @param {string} kind @returns {any} */
function parquetCell(cell, kind) {
  if (cell === null) return null;
  if (kind === 'integer') return typeof cell === 'string' && beyond(cell) ? Number(cell) : BigInt(cell);
  if (kind === 'time' || kind === 'date') return new Date(cell * 1000);
  return kind === 'number' || kind === 'boolean' ? cell : String(cell);
}
