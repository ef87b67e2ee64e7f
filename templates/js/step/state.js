/**
 * What a link to a step page says: tab, filter, order, columns, axes, brush, pins.
 *
 * The query string is the only state: parts write it and are told of every change, also by the back button.
 */

import { joinList, splitList } from './list.js';
import { sortToText, textToSort } from './sort.js';

/** @typedef {import('../types').UrlState} UrlState */
/** @typedef {import('./sort.js').SortKey} SortKey */

/**
 * @typedef {object} PageDefaults what the build chose for this step
 * @property {string[]} columns
 * @property {string} sort column sorted by at first, largest first; "" for file order
 * @property {{x: string, y: string, colour: string}} axes
 *
 * @typedef {object} StepState
 * @property {string} tab
 * @property {string} filter
 * @property {SortKey[]} sort
 * @property {string[]} columns
 * @property {string} x
 * @property {string} y
 * @property {string} colour "" for none
 * @property {[number, number] | null} xRange brushed values of x
 * @property {[number, number] | null} yRange brushed values of y
 * @property {number[]} pins rows kept for comparison
 * @property {SortKey[]} groupSort
 * @property {string[]} openGroups group_index of the groups unfolded, "" for none
 */

/**
 * @param {UrlState} url
 * @param {PageDefaults} defaults
 * @param {string[]} names columns that there are; others in a link are ignored
 * @returns {StepState}
 */
export function readState(url, defaults, names) {
  const known = new Set(names);
  const sort = url.get('sort');
  const columns = splitList(url.get('cols', '')).filter(name => known.has(name));
  const axis = (/** @type {string} */ key, /** @type {string} */ fallback) => {
    const chosen = url.get(key, fallback);
    return known.has(chosen) ? chosen : fallback;
  };
  return {
    tab: url.get('tab', 'samples'),
    filter: url.get('q', ''),
    sort: sort === null ? defaultSort(defaults) : textToSort(sort).filter(key => known.has(key.column)),
    columns: columns.length ? [...new Set(columns)] : defaults.columns,
    x: axis('x', defaults.axes.x),
    y: axis('y', defaults.axes.y),
    colour: url.get('colour') === '' ? '' : axis('colour', defaults.axes.colour),
    xRange: readRange(url.get('bx')),
    yRange: readRange(url.get('by')),
    pins: splitList(url.get('pin', '')).map(Number).filter(Number.isInteger),
    groupSort: textToSort(url.get('gsort', '')),
    openGroups: splitList(url.get('group', '')),
  };
}

/**
 * Changes of the state as changes of the query string; what equals the defaults leaves it.
 *
 * @param {Partial<StepState>} changes
 * @param {PageDefaults} defaults
 * @returns {Record<string, string | null>}
 */
export function stateChanges(changes, defaults) {
  /** @type {Record<string, string | null>} */
  const found = {};
  const put = (/** @type {string} */ key, /** @type {string} */ text, /** @type {string} */ fallback) => {
    found[key] = text === fallback ? null : text;
  };
  if (changes.tab !== undefined) put('tab', changes.tab, 'samples');
  if (changes.filter !== undefined) put('q', changes.filter, '');
  if (changes.sort !== undefined) put('sort', sortToText(changes.sort), sortToText(defaultSort(defaults)));
  if (changes.columns !== undefined) put('cols', joinList(changes.columns), joinList(defaults.columns));
  if (changes.x !== undefined) put('x', changes.x, defaults.axes.x);
  if (changes.y !== undefined) put('y', changes.y, defaults.axes.y);
  if (changes.colour !== undefined) put('colour', changes.colour, defaults.axes.colour);
  if (changes.xRange !== undefined) put('bx', rangeToText(changes.xRange), '');
  if (changes.yRange !== undefined) put('by', rangeToText(changes.yRange), '');
  if (changes.pins !== undefined) put('pin', changes.pins.join(','), '');
  if (changes.groupSort !== undefined) put('gsort', sortToText(changes.groupSort), '');
  if (changes.openGroups !== undefined) put('group', joinList(changes.openGroups), '');
  return found;
}

/** @param {PageDefaults} defaults @returns {SortKey[]} */
export function defaultSort(defaults) {
  return defaults.sort ? [{ column: defaults.sort, descending: true }] : [];
}

/**
 * A brushed range with few digits, grown so that it still holds what it held.
 *
 * @param {number} low
 * @param {number} high
 * @returns {[number, number]}
 */
export function roundRange(low, high) {
  return [roundTo(low, Math.floor), roundTo(high, Math.ceil)];
}

/** @param {number} value @param {(value: number) => number} direction @returns {number} */
function roundTo(value, direction) {
  if (value === 0 || !Number.isFinite(value)) return value;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) - 2);
  return Number((direction(value / unit) * unit).toPrecision(4));
}

/** @param {string | null} text @returns {[number, number] | null} */
function readRange(text) {
  const [low, high] = (text ?? '').split(',').map(part => (part.trim() === '' ? NaN : Number(part)));
  return Number.isFinite(low) && Number.isFinite(high) && low <= high ? [low, high] : null;
}

/** @param {[number, number] | null} range @returns {string} */
function rangeToText(range) {
  return range ? range.join(',') : '';
}
