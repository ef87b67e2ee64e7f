/**
 * Shapes that the modules of the step page share.
 *
 * @typedef {'number' | 'boolean' | 'text'} ColumnType
 *
 * @typedef {object} ColumnInfo
 * @property {string} name as in the samples table
 * @property {ColumnType} type what its values are
 */

export {};
