/**
 * A result as a drawing: which columns suit, and the marks.
 */

import { svg } from '../dom.js';
import { count, value } from '../format.js';
import { xAxis, yAxis } from '../marks/axis.js';
import { bars } from '../marks/bars.js';
import { line } from '../marks/line.js';
import { extent, linearScale, niceDomain, timeScale } from '../marks/scale.js';

/** @typedef {import('../data/result.js').Result} Result */
/** @typedef {'bar' | 'line' | 'points'} ChartKind */
/** @typedef {{kind: ChartKind, x: string, y: string}} Choice */

const MOST_BARS = 200;
const MOST_POINTS = 4000;
const GUESS_BARS = 40;

/** Columns whose numbers are names. */
export const IDS = new Set(['step', 'row', 'sample_index', 'group_index', 'position', 'token_id', 'turn', 'eval_set', 'attempt']);

/**
 * @param {Result} result
 * @returns {string[]} columns that can be heights
 */
export function numberColumns({ frame, kinds }) {
  return frame.names.filter(name => kinds[name] === 'number' || kinds[name] === 'integer');
}

/**
 * @param {Result} result
 * @returns {Choice | null} what to draw unless the reader chooses: first column, first number beside it that is not an id; null: nothing can be drawn
 */
export function guess(result) {
  const x = result.frame.names[0];
  const numbers = numberColumns(result);
  const others = numbers.filter(name => name !== x);
  const y = others.find(name => !IDS.has(name)) ?? others[0] ?? numbers[0];
  if (!x || !y || result.frame.length < 2) return null;
  return { x, y, kind: kindFor(result, x) };
}

/**
 * @param {Result} result
 * @param {string} x
 * @returns {ChartKind}
 */
export function kindFor({ frame, kinds }, x) {
  if (!isNumeric(kinds[x]) || frame.length <= GUESS_BARS) return 'bar';
  const cells = frame.columns[x];
  let before = -Infinity;
  for (let i = 0; i < frame.length; i++) {
    const cell = numeric(cells[i]) ?? before;
    if (cell <= before) return 'points';
    before = cell;
  }
  return 'line';
}

/** @param {string} kind @returns {boolean} */
function isNumeric(kind) {
  return ['number', 'integer', 'time', 'date'].includes(kind);
}

/** @param {any} cell @returns {number | null} whole numbers beyond 2^53 come as text */
function numeric(cell) {
  if (cell === null || cell === undefined) return null;
  return typeof cell === 'string' ? Number(cell) : cell;
}

/**
 * @typedef {object} Drawing
 * @property {SVGSVGElement} node
 * @property {string} note what is left out; '' for nothing
 * @property {(row: number | null) => void} mark shows one row
 * @property {(x: number, y: number) => number | null} rowAt of a place in the drawing, in its pixels
 */

/**
 * @param {Result} result
 * @param {Choice} choice
 * @param {{width: number, height?: number}} size
 * @returns {Drawing}
 */
export function drawResult(result, choice, { width, height = 320 }) {
  const { frame, kinds } = result;
  const shown = Math.min(frame.length, choice.kind === 'bar' ? MOST_BARS : MOST_POINTS);
  const ys = Array.from({ length: shown }, (_, i) => numeric(frame.columns[choice.y][i]));
  const band = choice.kind === 'bar' || !isNumeric(kinds[choice.x]);
  const xs = Array.from({ length: shown }, (_, i) => (band ? i + 0.5 : numeric(frame.columns[choice.x][i])));
  const [low, high] = extent(ys) ?? [0, 1];
  const domain = niceDomain(choice.kind === 'bar' ? [Math.min(0, low), Math.max(0, high)] : [low, high], 6);
  const left = 12 + 7 * Math.max(...y(domain, [0, 1]).ticks(6).map(tick => value(tick).length));
  const yScale = y(domain, [height - 36, 12]);
  const across = /** @type {[number, number]} */ ([left, width - 8]);
  const xScale = xScaleOf(kinds[choice.x], band, band ? [0, shown] : extent(xs) ?? [0, 1], across);
  const marks = marksOf(choice.kind, xs, ys, xScale, yScale);
  const over = svg('g', { class: 'query-mark' });
  const labels = band ? bandAxis(frame.columns[choice.x], kinds[choice.x], shown, xScale, height - 36) : xAxis(xScale, height - 36);
  const node = svg('svg', {
    class: 'marks', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': `${choice.y} over ${choice.x}, ${count(shown)} values`,
  }, yAxis(yScale, across, { count: 6 }), marks, labels, over,
  svg('text', { x: left, y: height - 5 }, choice.x), svg('text', { x: width - 8, y: height - 5, 'text-anchor': 'end' }, `y: ${choice.y}`));
  return {
    node,
    note: shown < frame.length ? `The drawing shows the first ${count(shown)} of ${count(frame.length)} rows.` : '',
    mark(row) {
      over.replaceChildren();
      if (row === null || row >= shown || ys[row] === null || !Number.isFinite(ys[row]) || xs[row] === null) return;
      const at = { x: xScale(/** @type {number} */ (xs[row])), y: yScale(/** @type {number} */ (ys[row])) };
      if (choice.kind === 'bar') over.append(bars([{ from: row, to: row + 1, value: ys[row], class: 'strong' }], xScale, yScale, { gap: gapOf(shown, across) }));
      else over.append(svg('circle', { class: 'ring', cx: at.x, cy: at.y, r: 4 }));
      const anchor = at.x > width - 80 ? 'end' : at.x < left + 40 ? 'start' : 'middle';
      over.append(svg('text', { class: 'value halo', x: at.x, y: Math.max(10, at.y - 6), 'text-anchor': anchor }, value(ys[row])));
    },
    rowAt(px) {
      if (px < across[0] - 4 || px > across[1] + 4 || !shown) return null;
      if (band) return Math.max(0, Math.min(shown - 1, Math.floor(xScale.invert(px))));
      let best = null;
      let least = 24;
      xs.forEach((cell, i) => {
        const distance = cell === null ? Infinity : Math.abs(xScale(cell) - px);
        if (distance < least) {
          least = distance;
          best = i;
        }
      });
      return best;
    },
  };
}

/** @param {[number, number]} domain @param {[number, number]} range */
function y(domain, range) {
  return linearScale(domain, range);
}

/**
 * @param {string} kind
 * @param {boolean} band
 * @param {[number, number]} domain
 * @param {[number, number]} across
 */
function xScaleOf(kind, band, domain, across) {
  return !band && (kind === 'time' || kind === 'date') ? timeScale(domain, across) : linearScale(domain, across);
}

/**
 * @param {ChartKind} kind
 * @param {(number | null)[]} xs
 * @param {(number | null)[]} ys
 * @param {import('../types').Scale} x
 * @param {import('../types').Scale} y
 * @returns {SVGElement}
 */
function marksOf(kind, xs, ys, x, y) {
  if (kind === 'line') return line(xs, ys, x, y);
  if (kind === 'bar') {
    const gap = gapOf(ys.length, x.range);
    return bars(ys.map((cell, i) => ({ from: i, to: i + 1, value: cell })), x, y, { gap });
  }
  return svg('g', null, xs.map((cell, i) => (cell === null || ys[i] === null || !Number.isFinite(ys[i]) ? null
    : svg('circle', { class: 'point', cx: x(cell), cy: y(/** @type {number} */ (ys[i])), r: 2.5, 'fill-opacity': 0.6 }))));
}

/** @param {number} bars @param {[number, number]} across @returns {number} pixels of paper between bars */
function gapOf(bars, across) {
  const width = (across[1] - across[0]) / Math.max(1, bars);
  return width > 12 ? 3 : width > 4 ? 1 : 0;
}

/**
 * Names under bars, as many as there is room for.
 *
 * @param {ArrayLike<any>} cells
 * @param {string} kind
 * @param {number} shown
 * @param {import('../types').Scale} x
 * @param {number} base pixels
 * @returns {SVGElement}
 */
function bandAxis(cells, kind, shown, x, base) {
  const names = Array.from({ length: shown }, (_, i) => bandName(cells[i], kind));
  const width = (x.range[1] - x.range[0]) / Math.max(1, shown);
  const longest = Math.max(1, ...names.map(name => name.length)) * 6.8 + 10;
  const every = Math.max(1, Math.ceil(longest / Math.max(1, width)));
  return svg('g', { class: 'axis x' },
    svg('line', { class: 'base', x1: x.range[0], x2: x.range[1], y1: base, y2: base }),
    names.map((name, i) => (i % every === 0 ? svg('text', { x: x(i + 0.5), y: base + 16, 'text-anchor': 'middle' }, name) : null)));
}

/** @param {any} cell @param {string} kind @returns {string} */
function bandName(cell, kind) {
  const text = kind === 'time' || kind === 'date' ? value(cell, 'ts').replace(' UTC', '') : value(cell, kind === 'integer' ? 'id' : 'number');
  return text.length > 16 ? `${text.slice(0, 15)}…` : text;
}
