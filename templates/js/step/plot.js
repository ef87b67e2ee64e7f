/**
 * The arithmetic of the scatter: scales, categories, brushed rows. No drawing.
 */

import { extent, linearScale, logScale, niceDomain } from '../marks/scale.js';

/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('../types').Scale} Scale */
/** @typedef {import('./columns.js').StepColumn} StepColumn */

const LOG_DECADES = 2;
const MAX_KINDS = 6;
const FEW_WHOLE = 60;
const SPREAD = 0.28;

/**
 * Numbers of a column for an axis: booleans as 0 and 1, words and absent ones as NaN.
 *
 * @param {Frame} frame
 * @param {string} name
 * @returns {Float64Array}
 */
export function numbersOf(frame, name) {
  const cells = frame.columns[name] ?? [];
  const numbers = new Float64Array(frame.length).fill(NaN);
  for (let row = 0; row < frame.length; row++) {
    const cell = cells[row];
    if (typeof cell === 'number' || typeof cell === 'boolean') numbers[row] = Number(cell);
  }
  return numbers;
}

/**
 * A scale for a column: logarithmic where its values are all positive and span decades.
 *
 * @param {ArrayLike<number>} numbers
 * @param {[number, number]} range pixels
 * @returns {Scale}
 */
export function axisScale(numbers, range) {
  const found = extent(numbers) ?? [0, 1];
  if (found[0] > 0 && Math.log10(found[1] / found[0]) > LOG_DECADES) {
    return logScale([found[0] * 0.8, found[1] * 1.25], range);
  }
  const [low, high] = niceDomain(found, 6);
  const room = (high - low) * 0.02;
  return linearScale([low - room, high + room], range);
}

/**
 * Ticks for a log axis: powers of ten, with 2 and 5 between them where there are few.
 *
 * @param {[number, number]} domain both above zero
 * @returns {number[]}
 */
export function decadeTicks([low, high]) {
  const first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, i) => first + i);
  const within = (/** @type {number[]} */ values) => values.filter(value => value >= low && value <= high);
  const tens = within(powers.map(power => Number(`1e${power}`)));
  if (tens.length > 2) return tens.filter((_, i) => i % Math.ceil(tens.length / 6) === 0);
  return within(powers.flatMap(power => [1, 2, 5].map(part => Number(`${part}e${power}`))));
}

/**
 * Places for values that share few whole numbers: each a little aside, always the same way, so that marks do not hide
 * each other.
 *
 * @param {Float64Array} numbers
 * @returns {Float64Array} the same array where nothing is moved
 */
export function spreadOut(numbers) {
  const found = extent(numbers);
  if (!found || found[1] - found[0] > FEW_WHOLE || numbers.length < 40) return numbers;
  if (numbers.some(value => Number.isFinite(value) && !Number.isInteger(value))) return numbers;
  return numbers.map((value, row) => value + (fraction(row) * 2 - 1) * SPREAD);
}

/** @param {number} row @returns {number} 0 to 1, as good as random, always the same for a row */
function fraction(row) {
  return (row * 0.618033988749895) % 1;
}

/**
 * @param {ArrayLike<number>} numbers
 * @param {[number, number] | null} range
 * @param {number} row
 * @returns {boolean} whether a value lies in a brushed range; no range holds all
 */
export function inRange(numbers, range, row) {
  return range === null || (numbers[row] >= range[0] && numbers[row] <= range[1]);
}

/**
 * @typedef {object} Kind samples that are drawn alike
 * @property {string} label
 * @property {string} token colour
 * @property {'dot' | 'diamond'} shape
 * @property {boolean} filled
 * @property {number} size
 * @property {number[]} rows
 */

const TOKENS = ['--c-blue', '--c-vermilion', '--c-green', '--c-purple', '--c-orange-ink', '--c-pink'];

/**
 * Samples by the column that colours them; what stands out comes last, so that it is drawn on top.
 *
 * @param {Frame} frame
 * @param {StepColumn | null} column null: all alike
 * @param {(value: any) => string} write a value in words
 * @returns {Kind[]}
 */
export function kindsOf(frame, column, write) {
  const every = Array.from({ length: frame.length }, (_, row) => row);
  const plain = { token: '--c-grey', shape: /** @type {const} */ ('dot'), filled: true, size: 2 };
  if (!column) return [{ ...plain, label: 'samples', token: '--c-blue', rows: every }];
  const cells = frame.columns[column.name] ?? [];
  if (column.type === 'boolean') {
    const label = column.label.toLowerCase();
    return [
      { ...plain, label: column.name === 'mixed_version' ? 'one version' : `not ${label}`, rows: every.filter(row => !cells[row]) },
      { label, token: '--c-vermilion', shape: 'diamond', filled: false, size: 3, rows: every.filter(row => cells[row]) },
    ];
  }
  return column.type === 'text' ? wordKinds(every, cells, write) : numberKinds(every, cells, write);
}

/**
 * @param {number[]} rows
 * @param {ArrayLike<any>} cells
 * @param {(value: any) => string} write
 * @returns {Kind[]} the most frequent words, the rest together
 */
function wordKinds(rows, cells, write) {
  /** @type {Map<any, number[]>} */
  const found = new Map();
  for (const row of rows) {
    const members = found.get(cells[row]) ?? [];
    members.push(row);
    found.set(cells[row], members);
  }
  const sorted = [...found].sort((a, b) => b[1].length - a[1].length);
  const shown = sorted.slice(0, sorted.length > MAX_KINDS ? MAX_KINDS - 1 : MAX_KINDS);
  const rest = sorted.slice(shown.length).flatMap(([, members]) => members);
  const kinds = shown.map(([value, members], i) => ({
    label: value === null ? 'none' : write(value),
    token: i === 0 ? '--c-grey' : TOKENS[i],
    shape: /** @type {'dot' | 'diamond'} */ (i % 2 ? 'diamond' : 'dot'),
    filled: i % 4 < 1,
    size: i === 0 ? 2 : 3,
    rows: members,
  }));
  if (rest.length) kinds.push({ label: 'others', token: '--c-sky', shape: 'dot', filled: false, size: 3, rows: rest });
  return kinds;
}

/**
 * @param {number[]} rows
 * @param {ArrayLike<any>} cells
 * @param {(value: any) => string} write
 * @returns {Kind[]} lower half, upper quarters; absent ones apart
 */
function numberKinds(rows, cells, write) {
  const finite = rows.filter(row => Number.isFinite(cells[row])).sort((a, b) => cells[a] - cells[b]);
  const absent = rows.filter(row => !Number.isFinite(cells[row]));
  if (!finite.length) return [{ label: 'none', token: '--c-grey', shape: 'dot', filled: true, size: 2, rows: absent }];
  const at = (/** @type {number} */ part) => cells[finite[Math.min(finite.length - 1, Math.floor(part * finite.length))]];
  const cuts = [...new Set([at(0.5), at(0.75), at(0.9)])].filter(cut => cut > cells[finite[0]]);
  const looks = [
    { token: '--c-grey', shape: /** @type {const} */ ('dot'), filled: true, size: 2 },
    { token: '--c-sky', shape: /** @type {const} */ ('dot'), filled: true, size: 2.5 },
    { token: '--c-blue', shape: /** @type {const} */ ('dot'), filled: true, size: 3 },
    { token: '--c-vermilion', shape: /** @type {const} */ ('diamond'), filled: true, size: 3.5 },
  ];
  const edges = [-Infinity, ...cuts, Infinity];
  const kinds = edges.slice(1).map((high, i) => ({
    ...looks[i === cuts.length && i > 0 ? 3 : i],
    label: i === 0 ? (cuts.length ? `below ${write(high)}` : write(cells[finite[0]])) : i === cuts.length ? `${write(edges[i])} and above` : `from ${write(edges[i])}`,
    rows: finite.filter(row => cells[row] >= edges[i] && cells[row] < high),
  }));
  if (absent.length) kinds.unshift({ label: 'none', token: '--c-grey', shape: 'diamond', filled: false, size: 2, rows: absent });
  return kinds;
}
