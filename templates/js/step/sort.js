/**
 * Order of rows by several columns, and how it is written in the link.
 *
 * Null is last whichever way a column is sorted, NaN before it: absence is no small number.
 */

import { joinList, splitList } from './list.js';

/** @typedef {import('../types').Frame} Frame */
/** @typedef {{ column: string, descending: boolean }} SortKey */

const WORDS = new Intl.Collator('en', { numeric: true });

/**
 * @param {number[]} rows
 * @param {Frame} frame
 * @param {SortKey[]} keys
 * @returns {number[]} a new array; ties keep their order
 */
export function sortRows(rows, frame, keys) {
  const active = keys.filter((key) => frame.columns[key.column]);
  if (active.length === 0) return rows.slice();
  return rows.slice().sort((a, b) => {
    for (const key of active) {
      const cells = /** @type {ArrayLike<any>} */ (frame.columns[key.column]);
      const order = compareCells(cells[a], cells[b], key.descending);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

/**
 * @param {any} a
 * @param {any} b
 * @param {boolean} descending
 * @returns {number}
 */
export function compareCells(a, b, descending) {
  const rank = absence(a) - absence(b);
  if (rank !== 0) return rank;
  if (absence(a) > 0) return 0;
  const order = typeof a === 'string' ? WORDS.compare(a, String(b)) : Number(a) - Number(b);
  if (Number.isNaN(order)) return 0;
  return descending ? -order : order;
}

/**
 * What a click on a header does: alone it sorts by that column (numbers largest first, then the other way, then not at
 * all); with shift it does so to one of several keys.
 *
 * @param {SortKey[]} keys
 * @param {string} column
 * @param {{ add: boolean, descendingFirst: boolean }} options
 * @returns {SortKey[]}
 */
export function clickSort(keys, column, options) {
  const present = keys.find((key) => key.column === column);
  const first = { column, descending: options.descendingFirst };
  /** @type {SortKey | null} */
  let next = first;
  if (present) next = present.descending === options.descendingFirst ? { column, descending: !present.descending } : null;
  if (!options.add) return next ? [next] : [];
  if (!present) return [...keys, first];
  return keys.flatMap((key) => (key.column === column ? (next ? [next] : []) : [key]));
}

/** @param {SortKey[]} keys @returns {string} `-column,other` */
export function sortToText(keys) {
  return joinList(keys.map((key) => `${key.descending ? '-' : '+'}${key.column}`));
}

/** @param {string} text @returns {SortKey[]} */
export function textToSort(text) {
  return splitList(text).flatMap((part) => {
    const signed = part.startsWith('-') || part.startsWith('+');
    const column = signed ? part.slice(1) : part;
    return column ? [{ column, descending: part.startsWith('-') }] : [];
  });
}

/** @param {any} cell @returns {number} 0 a value, 1 NaN, 2 null */
function absence(cell) {
  if (cell === null || cell === undefined) return 2;
  return typeof cell === 'number' && Number.isNaN(cell) ? 1 : 0;
}
