/**
 * Readings of GPUs and engines in a window, from as few slices as it needs.
 *
 * Each source is published raw and in coarser levels, which keep the least, mean and greatest of every stretch.
 *
 * @typedef {import('../types').Catalog} Catalog
 * @typedef {import('../types').Context} Context
 * @typedef {import('../types').Frame} Frame
 * @typedef {import('../types').Slice} Slice
 * @typedef {import('./window.js').Span} Span
 *
 * @typedef {object} Source
 * @property {string} raw table
 * @property {string} levels table
 * @property {string} key column whose range tells what a slice holds: lane or metric
 *
 * @typedef {object} Series readings of one place, by time
 * @property {ArrayLike<number>} times Unix seconds; of a level the begin of the stretch
 * @property {Record<string, {low: ArrayLike<number | null>, mean: ArrayLike<number | null>, high: ArrayLike<number | null>}>} values
 *   by reading; raw ones have one array for all three
 * @property {number} step seconds between readings
 * @property {number} width seconds of a stretch; 0 for raw readings
 */

import { readSlice } from '../data/slices.js';
import { concatFrames } from '../data/frame.js';

/** @type {Source} */
export const GPUS = { raw: 'gpu_util', levels: 'gpu_levels', key: 'lane' };
/** @type {Source} */
export const ENGINES = { raw: 'engine_series', levels: 'engine_levels', key: 'metric' };

/** So many intervals of a place a reading holds where the next one is missing. */
export const HOLD = 3;

/** Readings a pixel beyond which a coarser level is read. */
const DENSE = 4;

/**
 * The level to read.
 *
 * @param {Catalog} catalog
 * @param {Source} source
 * @param {Span} span
 * @param {number} pixels
 * @param {number} interval seconds between raw readings
 * @returns {number} its width in seconds; 0 for raw readings
 */
export function chooseWidth(catalog, source, span, pixels, interval) {
  const widths = [...new Set(catalog.slices(source.levels).map(slice => slice.keys.width_s?.[0]).filter(Boolean))].sort((a, b) => a - b);
  const size = span[1] - span[0];
  if (!widths.length || size / interval <= pixels * DENSE) return 0;
  return widths.find(width => size / width <= pixels * DENSE) ?? widths[widths.length - 1];
}

/**
 * Seconds between readings of one place, from what the catalogue says alone.
 *
 * @param {Slice[]} slices raw ones
 * @param {number} places
 * @returns {number}
 */
export function intervalOf(slices, places) {
  const rows = slices.reduce((sum, slice) => sum + slice.rows, 0);
  const from = Math.min(...slices.map(slice => slice.keys.ts?.[0] ?? Infinity));
  const to = Math.max(...slices.map(slice => slice.keys.ts?.[1] ?? -Infinity));
  return rows > places && to > from ? (to - from) * places / rows : 1;
}

/**
 * The slices that can hold readings of a window.
 *
 * @param {Catalog} catalog
 * @param {Source} source
 * @param {{width: number, span: Span, keys: number[]}} wanted keys: indices of lanes, or of the metric
 * @returns {Slice[]}
 */
export function pickLevel(catalog, source, { width, span, keys }) {
  return catalog.slices(width ? source.levels : source.raw).filter(slice => {
    const { width_s: widths, ts, [source.key]: range } = slice.keys;
    if (width && widths && widths[0] !== width) return false;
    if (range && !keys.some(key => range[0] <= key && key <= range[1])) return false;
    return !ts || (ts[0] <= span[1] && span[0] <= ts[1] + width);
  });
}

/**
 * @param {Context} context
 * @param {Catalog} catalog
 * @param {Source} source
 * @param {{width: number, span: Span, keys: number[]}} wanted see pickLevel
 * @returns {Promise<Frame>} rows of whole slices; rejects as readSlice does
 */
export async function readLevel(context, catalog, source, wanted) {
  const frames = await Promise.all(pickLevel(catalog, source, wanted).map(slice => readSlice(context, slice)));
  return concatFrames(frames);
}

/**
 * Rows as one series a place.
 *
 * @param {Frame} frame raw readings or a level
 * @param {string[]} names readings: of a level each has columns _min, _mean and _max
 * @param {number} width seconds of a stretch; 0 for raw readings
 * @param {(row: number) => string | null} placeOf null for a row that is not wanted
 * @returns {Map<string, Series>}
 */
export function seriesOf(frame, names, width, placeOf) {
  /** @type {Map<string, number[]>} */
  const rows = new Map();
  for (let row = 0; row < frame.length; row++) {
    const place = placeOf(row);
    if (place === null) continue;
    const known = rows.get(place);
    if (known) known.push(row);
    else rows.set(place, [row]);
  }
  const { ts } = frame.columns;
  /** @type {Map<string, Series>} */
  const found = new Map();
  for (const [place, mine] of rows) {
    mine.sort((a, b) => ts[a] - ts[b]);
    const take = (/** @type {string} */ name) => mine.map(row => frame.columns[name]?.[row] ?? null);
    const times = mine.map(row => ts[row]);
    found.set(place, {
      times, width, step: width || medianStep(times),
      values: Object.fromEntries(names.map(name => {
        if (width) return [name, { low: take(`${name}_min`), mean: take(`${name}_mean`), high: take(`${name}_max`) }];
        const values = take(name);
        return [name, { low: values, mean: values, high: values }];
      })),
    });
  }
  return found;
}

/**
 * @param {ArrayLike<number>} times ascending
 * @returns {number} seconds; 1 for fewer than two
 */
export function medianStep(times) {
  const steps = [];
  for (let i = 1; i < times.length; i++) steps.push(times[i] - times[i - 1]);
  if (!steps.length) return 1;
  steps.sort((a, b) => a - b);
  return Math.max(steps[steps.length >> 1], 1e-3);
}

/**
 * Until when a reading counts.
 *
 * @param {Series} series
 * @param {number} i
 * @returns {number} Unix seconds: the next reading, at most three intervals on
 */
export function heldUntil({ times, step, width }, i) {
  const most = times[i] + (width || step * HOLD);
  return i + 1 < times.length ? Math.min(times[i + 1], most) : Math.min(most, times[i] + (width || step));
}

/**
 * The reading that counts at a moment.
 *
 * @param {Series} series
 * @param {number} time Unix seconds
 * @returns {number} its place in the series; -1 where there is none
 */
export function readingAt(series, time) {
  let low = 0;
  let high = series.times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low > 0 && time < heldUntil(series, low - 1) ? low - 1 : -1;
}

/**
 * Readings as one column a pixel: what is between two pixels counts in full.
 *
 * @param {Series} series
 * @param {string} name
 * @param {Span} span
 * @param {number} pixels
 * @returns {{low: Float64Array, mean: Float64Array, high: Float64Array}} NaN where there are no data
 */
export function envelope(series, name, span, pixels) {
  const low = new Float64Array(pixels).fill(NaN);
  const mean = new Float64Array(pixels).fill(NaN);
  const high = new Float64Array(pixels).fill(NaN);
  const counts = new Uint32Array(pixels);
  const { values, times } = series;
  const column = values[name];
  const scale = pixels / (span[1] - span[0]);
  for (let i = Math.max(0, firstIn(times, span[0]) - 1); i < times.length && times[i] <= span[1]; i++) {
    const middle = column.mean[i];
    if (middle === null) continue;
    const least = column.low[i] ?? middle;
    const most = column.high[i] ?? middle;
    const from = Math.max(0, Math.floor((times[i] - span[0]) * scale));
    const to = Math.min(pixels, Math.max(from + 1, Math.ceil((heldUntil(series, i) - span[0]) * scale - 1e-6)));
    for (let pixel = from; pixel < to; pixel++) {
      const n = counts[pixel]++;
      low[pixel] = n ? Math.min(low[pixel], least) : least;
      high[pixel] = n ? Math.max(high[pixel], most) : most;
      mean[pixel] = n ? mean[pixel] + (middle - mean[pixel]) / (n + 1) : middle;
    }
  }
  return { low, mean, high };
}

/**
 * @param {ArrayLike<number>} times ascending
 * @param {number} time
 * @returns {number} the first that is not before it
 */
function firstIn(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
