/**
 * Colour of a token for a series: how far from neutral, to which side, and where the scale ends.
 * The mix itself is CSS (`color-mix` in oklab between paper and the ends), so it follows the theme.
 */

import { number } from '../format.js';

/** @typedef {import('./payload.js').Series} Series */
/**
 * @typedef {object} Scale
 * @property {string} name series
 * @property {boolean} diverging
 * @property {string} low words at the lower end
 * @property {string} high words at the upper end
 * @property {string} fitted why the ends are not the usual ones, or ''
 * @property {(value: number) => number} strength -1 to 1; 0 is unpainted; NaN where the value is
 */

const CURVE = 0.8;
const RATIO_NATS = 2.3; // full colour at ratios 0.1 and 10
const RATIO_QUIET = 0.07; // nats left unpainted, 3 % of the end
const LOG_PROB_NATS = 6; // full colour at a probability of 0.25 %
const ENTROPY_NATS = 3;
const DIFFERENCES = new Set(['lp_diff', 'imp_ratio']);

/**
 * @param {Series} series
 * @param {(value: number) => string} format of the series
 * @returns {Scale}
 */
export function scaleOf(series, format) {
  if (DIFFERENCES.has(series.name)) return differenceScale(series, format);
  const { low, high } = extent(series);
  if (series.name.endsWith('log_probs')) {
    return sequential(series.name, -LOG_PROB_NATS, '0', number(-LOG_PROB_NATS));
  }
  if (series.name.endsWith('entropy')) {
    return sequential(series.name, ENTROPY_NATS, '0', number(ENTROPY_NATS));
  }
  const end = Math.max(Math.abs(low), Math.abs(high)) || 1;
  if (low < 0 || series.name === 'advantages' || series.name === 'returns') {
    return diverging(series.name, end, 0, (value) => value, [format(-end), format(end)], '');
  }
  return sequential(series.name, end, '0', format(end));
}

/**
 * @param {Series} series lp_diff or imp_ratio
 * @param {(value: number) => string} format
 * @returns {Scale}
 */
function differenceScale(series, format) {
  const ratio = series.name === 'imp_ratio';
  const nats = ratio ? Math.log : (/** @type {number} */ value) => value;
  let top = 0;
  for (let i = 0; i < series.values.length; i += 1) {
    const size = Math.abs(nats(series.values[i]));
    if (series.known[i] && Number.isFinite(size)) top = Math.max(top, size);
  }
  const fitted = top > 0 && top < RATIO_QUIET;
  const end = fitted ? top : RATIO_NATS;
  const words = ratio ? [format(Math.exp(-end)), format(Math.exp(end))] : [format(-end), format(end)];
  if (!fitted && ratio) words.splice(0, 2, '0.1', '10');
  return diverging(
    series.name,
    end,
    fitted ? end * (RATIO_QUIET / RATIO_NATS) : RATIO_QUIET,
    nats,
    words,
    fitted ? 'Scale fitted to this sample: no token reaches the usual one' : '',
  );
}

/**
 * @param {string} name
 * @param {number} end
 * @param {number} quiet
 * @param {(value: number) => number} measure
 * @param {string[]} words
 * @param {string} fitted
 * @returns {Scale}
 */
function diverging(name, end, quiet, measure, words, fitted) {
  /** @param {number} value */
  function strength(value) {
    const size = measure(value);
    if (Math.abs(size) < quiet) return 0;
    return Math.sign(size) * Math.min(1, Math.abs(size) / end) ** CURVE;
  }
  return { name, diverging: true, low: words[0], high: words[1], fitted, strength };
}

/**
 * @param {string} name
 * @param {number} end
 * @param {string} low
 * @param {string} high
 * @returns {Scale} one-sided: the further towards `end`, the stronger
 */
function sequential(name, end, low, high) {
  /** @param {number} value */
  function strength(value) {
    return Math.max(0, Math.min(1, value / end)) ** CURVE;
  }
  return { name, diverging: false, low, high, fitted: '', strength };
}

/**
 * @param {Series} series
 * @returns {{low: number, high: number}} of the finite values; 0 and 0 without any
 */
export function extent(series) {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < series.values.length; i += 1) {
    const value = series.values[i];
    if (!series.known[i] || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? { low, high } : { low: 0, high: 0 };
}

/**
 * @param {number} strength of a scale
 * @param {boolean} diverging
 * @returns {string} CSS background, '' for unpainted
 */
export function paint(strength, diverging) {
  if (Number.isNaN(strength)) return 'var(--wash-2)';
  const percent = Math.round(Math.abs(strength) * 100);
  if (percent === 0) return '';
  const end = strength < 0 || !diverging ? '--t-neg' : '--t-pos';
  return `color-mix(in oklab, var(${end}) ${percent}%, var(--paper))`;
}
