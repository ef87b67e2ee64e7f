/**
 * Shapes that the modules of the step page share.
 *
 * @typedef {'number' | 'boolean' | 'text'} ColumnType
 *
 * @typedef {object} ColumnInfo
 * @property {string} name as in the samples table
 * @property {ColumnType} type what its values are
 *
 * @typedef {object} Frame
 * @property {number} length
 * @property {string[]} names
 * @property {Record<string, ArrayLike<any>>} columns
 */

export {};
