import { svg } from '../dom.js';
import { value as written } from '../format.js';
import { xAxis, yAxis } from '../marks/axis.js';
import { line } from '../marks/line.js';
import { extent, linearScale, logScale, niceDomain, tickFormat, timeScale } from '../marks/scale.js';
import { axisUnit } from './axes.js';
import { broken, smoothed, thinned } from './series.js';

/**
 * @typedef {import('./series.js').Series} Series
 * @typedef {import('../types').Scale} Scale
 * @typedef {{series: Series, xs: (number | null)[], form: string, unit: string}} Drawn
 * @typedef {{width: number, height: number, domain: [number, number], axis: 'step' | 'time', log: boolean, smoothing: number, word: string, faults?: {span: [number, number], text: string}[]}} Options
 *   domain: visible x
 * @typedef {{node: SVGSVGElement, x: Scale, unit: string, isLog: boolean, area: {x0: number, x1: number, y0: number, y1: number}, cursor: (at: number | null) => void}} Plot
 */

const BASE = 20;
const TOP = 6;
const RIGHT = 8;
const Y_TICKS = 3;

/**
 * One chart of a series: grid, raw and smoothed line, marks of gaps, and a cursor.
 *
 * @param {Drawn} drawn
 * @param {Options} options
 * @returns {Plot}
 */
export function drawPlot({ series, xs, form, unit }, { width, height, domain, axis, log, smoothing, word, faults = [] }) {
  const visible = series.values.filter((_, i) => isInside(xs[i], domain));
  const range = extent(visible);
  const shown = axisUnit(form, unit, range);
  const scaled = series.values.map(value => (value === null ? null : value * shown.factor));
  const isLog = log && range !== null && range[1] > 0;
  const y0 = TOP;
  const y1 = height - BASE;
  const yDomain = isLog ? logDomain(scaled, xs, domain) : linearDomain(range, shown.factor, form);
  const y = isLog ? logScale(yDomain, [y1, y0]) : linearScale(yDomain, [y1, y0]);
  const ticks = y.ticks(Y_TICKS);
  const write = tickFormat(ticks, y.kind);
  const left = Math.max(34, 10 + 6.6 * Math.max(0, ...ticks.map(tick => write(tick).length)));
  const x = (axis === 'time' ? timeScale : linearScale)(domain, [left, width - RIGHT]);
  const node = svg('svg', { class: 'marks metric-plot', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    faults.map(fault => faultMark(fault, x, [y0, y1])),
    yAxis(y, [left, width - RIGHT], { ticks, format: write }),
    xAxis(x, y1, axis === 'time' ? { count: 4 } : { word, last: Math.floor(domain[1]), count: 5, ticks: wholeTicks(x) }));
  const lines = svg('g', { transform: `translate(${2 - left},${2 - y0})` });
  const limit = Math.max(64, Math.round((width - left) * 2));
  const isSmooth = smoothing > 0 && !series.isConstant;
  const raw = visiblePart(broken(xs, scaled, series.attempts), domain);
  const thinRaw = thinned(raw.xs, raw.ys, limit);
  lines.append(line(thinRaw.xs, thinRaw.ys, x, y, { class: isSmooth ? 'raw' : 'smooth' }));
  if (isSmooth) {
    const soft = smoothed({ ...series, values: scaled }, smoothing);
    const part = visiblePart(broken(xs, soft, series.attempts), domain);
    const thin = thinned(part.xs, part.ys, limit);
    lines.append(line(thin.xs, thin.ys, x, y, { class: 'smooth' }));
  }
  const frame = svg('svg', { x: left - 2, y: y0 - 2, width: width - RIGHT - left + 4, height: y1 - y0 + 4, overflow: 'hidden' }, lines);
  node.append(frame, gapMarks(series, xs, x, y1, domain));
  const pointer = createCursor({ x, y, y0, y1, right: width - RIGHT, series, xs, scaled, form });
  node.append(pointer.node);
  return { node, x, unit: shown.unit, isLog, area: { x0: left, x1: width - RIGHT, y0, y1 }, cursor: pointer.move };
}

/**
 * @param {{span: [number, number], text: string}} fault
 * @param {Scale} x
 * @param {[number, number]} height pixels from top to base
 * @returns {SVGElement | null} a shade with its words; null outside the domain
 */
function faultMark({ span, text }, x, [top, base]) {
  const from = Math.max(x.range[0], x(span[0]));
  const to = Math.min(x.range[1], x(span[1]));
  if (to < x.range[0] || from > x.range[1]) return null;
  return svg('rect', { class: 'metric-fault', x: from, y: top, width: Math.max(2, to - from), height: base - top }, svg('title', null, text));
}

/**
 * @param {number | null} x
 * @param {[number, number]} domain
 * @returns {boolean}
 */
function isInside(x, domain) {
  return x !== null && x >= domain[0] && x <= domain[1];
}

/**
 * Whole tick steps around the values; not below zero where no value is, no share above 100 %.
 *
 * @param {[number, number] | null} range of the values
 * @param {number} factor from value to axis
 * @param {string} form
 * @returns {[number, number]}
 */
function linearDomain(range, factor, form) {
  if (!range) return [0, 1];
  const [low, high] = niceDomain([range[0] * factor, range[1] * factor], Y_TICKS);
  return [range[0] >= 0 ? Math.max(0, low) : low, form === 'frac' && range[1] <= 1 ? Math.min(factor, high) : high];
}

/**
 * @param {(number | null)[]} scaled
 * @param {(number | null)[]} xs
 * @param {[number, number]} domain
 * @returns {[number, number]} of the values above zero
 */
function logDomain(scaled, xs, domain) {
  const positive = scaled.filter((value, i) => value !== null && value > 0 && isInside(xs[i], domain));
  const [low, high] = extent(positive) ?? [0.1, 1];
  return low === high ? [low / 2, high * 2] : [low, high];
}

/**
 * Ticks of a step axis: whole numbers only.
 *
 * @param {Scale} x
 * @returns {number[]}
 */
function wholeTicks(x) {
  const first = Math.ceil(x.domain[0]);
  const inner = x.ticks(5).filter(tick => Number.isInteger(tick) && tick > first);
  return first <= x.domain[1] ? [first, ...inner] : inner;
}

/**
 * The points in view and one on each side, so that lines run to the edge.
 *
 * @param {{xs: (number | null)[], ys: (number | null)[]}} points
 * @param {[number, number]} domain
 * @returns {{xs: (number | null)[], ys: (number | null)[]}}
 */
function visiblePart({ xs, ys }, domain) {
  let from = xs.length;
  let to = -1;
  for (let i = 0; i < xs.length; i++) {
    if (!isInside(xs[i], domain)) continue;
    from = Math.min(from, i);
    to = Math.max(to, i);
  }
  return { xs: xs.slice(Math.max(0, from - 1), to + 2), ys: ys.slice(Math.max(0, from - 1), to + 2) };
}

/**
 * Short strokes on the base line where a value was not finite.
 *
 * @param {Series} series
 * @param {(number | null)[]} xs
 * @param {Scale} x
 * @param {number} base
 * @param {[number, number]} domain
 * @returns {SVGGElement}
 */
function gapMarks(series, xs, x, base, domain) {
  const at = new Set();
  if (series.gaps) {
    series.values.forEach((value, i) => {
      if (value === null && series.texts[i] === null && isInside(xs[i], domain)) at.add(Math.round(x(/** @type {number} */ (xs[i]))));
    });
  }
  return svg('g', { class: 'metric-gaps' },
    [...at].map(px => svg('line', { x1: px, x2: px, y1: base - 5, y2: base })));
}

/**
 * @param {{x: Scale, y: Scale, y0: number, y1: number, right: number, series: Series, xs: (number | null)[], scaled: (number | null)[], form: string}} parts
 * @returns {{node: SVGGElement, move: (at: number | null) => void}} move: to the point nearest to x
 */
function createCursor({ x, y, y0, y1, right, series, xs, scaled, form }) {
  const rule = svg('line', { class: 'metric-cursor', y1: y0, y2: y1 });
  const ring = svg('circle', { class: 'metric-ring', r: 3 });
  const label = svg('text', { class: 'value halo' });
  const node = svg('g', { visibility: 'hidden', 'pointer-events': 'none' }, rule, ring, label);
  return {
    node,
    move(at) {
      const i = at === null ? -1 : nearest(xs, at, x.domain);
      node.setAttribute('visibility', i < 0 ? 'hidden' : 'visible');
      if (i < 0) return;
      const px = x(/** @type {number} */ (xs[i]));
      const value = scaled[i];
      const py = value === null ? NaN : y(value);
      rule.setAttribute('x1', String(px));
      rule.setAttribute('x2', String(px));
      ring.setAttribute('visibility', Number.isFinite(py) ? 'inherit' : 'hidden');
      if (Number.isFinite(py)) {
        ring.setAttribute('cx', String(px));
        ring.setAttribute('cy', String(py));
      }
      const spot = Number.isFinite(py) ? py : y1;
      const isRight = px > (x.range[0] + right) / 2;
      label.setAttribute('x', String(px + (isRight ? -7 : 7)));
      label.setAttribute('y', String(spot - y0 > 22 ? spot - 8 : spot + 18));
      label.setAttribute('text-anchor', isRight ? 'end' : 'start');
      label.textContent = value === null ? series.texts[i] ?? 'not finite' : written(series.values[i], form);
    },
  };
}

/**
 * @param {(number | null)[]} xs in any order
 * @param {number} at
 * @param {[number, number]} domain
 * @returns {number} index of the nearest visible x; of several the last; -1 if there is none
 */
function nearest(xs, at, domain) {
  let best = -1;
  let distance = Infinity;
  for (let i = 0; i < xs.length; i++) {
    if (!isInside(xs[i], domain)) continue;
    const away = Math.abs(/** @type {number} */ (xs[i]) - at);
    if (away <= distance) {
      best = i;
      distance = away;
    }
  }
  return best;
}
