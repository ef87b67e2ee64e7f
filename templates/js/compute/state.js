import { readWindow, windowText } from './window.js';
import { laneWords } from './grammar.js';

/**
 * @typedef {import('./window.js').Span} Span
 * @typedef {'util' | 'mem_mb' | 'power_w'} Reading
 *
 * @typedef {object} State
 * @property {Span} span the window, Unix seconds
 * @property {string[]} lanes words of the grammar; none for the usual choice
 * @property {string | null} overlay engine metric; null for none
 * @property {Reading[]} shown
 * @property {boolean} utc
 */

/** What is read off a GPU. @type {[Reading, string][]} */
export const READINGS = [['util', 'Util'], ['mem_mb', 'Memory'], ['power_w', 'Power']];

/** Offered before the others. */
const FIRST_METRICS = ['sglang_num_running_reqs', 'sglang_gen_throughput', 'sglang_token_usage', 'sglang_cache_hit_rate'];
const NONE = 'none';
const USUAL = 'util';

/**
 * @param {string[]} metrics
 * @returns {string[]} those that are mostly wanted first
 */
export function orderedMetrics(metrics) {
  const first = FIRST_METRICS.filter(name => metrics.includes(name));
  return [...first, ...metrics.filter(name => !FIRST_METRICS.includes(name)).sort()];
}

/**
 * @param {{get: (name: string) => string | null}} url
 * @param {Span} whole
 * @param {string[]} metrics in the order in which they are offered
 * @returns {State}
 */
export function readState(url, whole, metrics) {
  const overlay = url.get('overlay');
  const shown = (url.get('show') ?? USUAL).split(',');
  return {
    span: readWindow(url.get('t'), whole),
    lanes: laneWords(url.get('lanes') ?? ''),
    overlay: overlay === NONE ? null : metrics.find(name => name === overlay) ?? metrics[0] ?? null,
    shown: READINGS.map(([name]) => name).filter(name => shown.includes(name)),
    utc: url.get('clock') === 'utc',
  };
}

/**
 * @param {State} state
 * @param {Span} whole
 * @param {string[]} metrics
 * @returns {Record<string, string | null>} for the address; null for what is as usual
 */
export function writeState({ span, lanes, overlay, shown, utc }, whole, metrics) {
  const readings = shown.join(',');
  return {
    t: windowText(span, whole),
    lanes: lanes.length ? lanes.join(',') : null,
    overlay: overlay === (metrics[0] ?? null) ? null : overlay ?? NONE,
    show: readings === USUAL ? null : readings || NONE,
    clock: utc ? 'utc' : null,
  };
}
