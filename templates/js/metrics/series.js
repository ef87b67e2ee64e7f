import { smooth } from '../marks/line.js';

/** @typedef {import('../types').Frame} Frame */

/**
 * One logged series in file order.
 *
 * @typedef {{
 *   id: string, key: string, stepKey: string, category: string,
 *   steps: (number | null)[], times: (number | null)[], attempts: number[],
 *   values: (number | null)[], texts: (string | null)[],
 *   gaps: number, isText: boolean, isConstant: boolean, last: number | null, lastText: string | null
 * }} Series values: null where not finite or text; gaps: how many are not finite
 */

/**
 * The rows of the metrics table as one series a step axis and key, in the order of first appearance.
 *
 * @param {Frame} frame
 * @param {string[]} plainAxes axes of every run; the others belong to adapters
 * @returns {Series[]}
 */
export function groupSeries(frame, plainAxes) {
  const { ts, attempt, step_key: stepKeys, step, key: keys, value, text } = frame.columns;
  /** @type {Map<string, Map<string, Series>>} */
  const byAxis = new Map();
  /** @type {Series[]} */
  const all = [];
  for (let row = 0; row < frame.length; row++) {
    const stepKey = stepKeys[row] ?? '';
    let byKey = byAxis.get(stepKey);
    if (!byKey) byAxis.set(stepKey, (byKey = new Map()));
    let series = byKey.get(keys[row]);
    if (!series) {
      series = empty(keys[row], stepKey, plainAxes);
      byKey.set(keys[row], series);
      all.push(series);
    }
    const number = value[row];
    series.steps.push(step[row]);
    series.times.push(ts[row]);
    series.attempts.push(attempt[row] ?? 0);
    series.values.push(number !== null && Number.isFinite(number) ? number : null);
    series.texts.push(text[row]);
  }
  all.forEach(summarise);
  return all;
}

/**
 * @param {string} key
 * @param {string} stepKey
 * @param {string[]} plainAxes
 * @returns {Series}
 */
function empty(key, stepKey, plainAxes) {
  return {
    id: seriesId(stepKey, key), key, stepKey, category: categoryOf(key, stepKey, plainAxes),
    steps: [], times: [], attempts: [], values: [], texts: [],
    gaps: 0, isText: false, isConstant: false, last: null, lastText: null,
  };
}

/**
 * @param {string} stepKey
 * @param {string} key
 * @returns {string} as it stands in the address
 */
export function seriesId(stepKey, key) {
  return `${stepKey}|${key}`;
}

/**
 * The section a key stands in: its prefix; behind the adapter where the axis is one's own.
 *
 * @param {string} key
 * @param {string} stepKey
 * @param {string[]} plainAxes
 * @returns {string}
 */
export function categoryOf(key, stepKey, plainAxes) {
  const at = key.indexOf('/');
  const prefix = key.slice(0, Math.max(at, 0)).trim() || 'other';
  if (!stepKey || plainAxes.includes(stepKey)) return prefix;
  return `${stepKey.replace(/\/step$/, '')} · ${prefix}`;
}

/** @param {Series} series */
function summarise(series) {
  const { values, texts } = series;
  const end = values.length - 1;
  series.isText = texts.some(text => text !== null) && values.every(value => value === null);
  series.gaps = values.filter((value, i) => value === null && texts[i] === null).length;
  series.last = values[end];
  series.lastText = texts[end];
  const finite = values.filter(value => value !== null);
  series.isConstant = finite.length > 1 && finite.every(value => value === finite[0]);
}

/**
 * Sections in the order of the page: known prefixes first, adapters last, else by name.
 *
 * @param {string[]} names
 * @param {string[]} order known prefixes
 * @returns {string[]}
 */
export function sortSections(names, order) {
  const rank = (/** @type {string} */ name) => {
    const known = order.indexOf(name);
    return known >= 0 ? known : order.length + (name.includes(' · ') ? 1 : 0);
  };
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/**
 * When each rollout step was last logged: the time of values that carry none of their own.
 *
 * @param {Series[]} all
 * @returns {Map<number, number>}
 */
export function stepTimes(all) {
  const times = new Map();
  for (const { stepKey, steps, times: logged } of all) {
    if (stepKey !== 'rollout/step') continue;
    steps.forEach((step, i) => {
      const time = logged[i];
      if (step !== null && time !== null) times.set(step, Math.max(time, times.get(step) ?? -Infinity));
    });
  }
  return times;
}

/**
 * x of every point. Series without any step count their records.
 *
 * @param {Series} series
 * @param {'step' | 'time'} axis
 * @param {Map<number, number>} known times of rollout steps
 * @param {number} start time that becomes zero
 * @returns {(number | null)[]}
 */
export function positions(series, axis, known, start) {
  if (axis === 'time') {
    return series.times.map((time, i) => {
      const at = time ?? known.get(series.steps[i] ?? NaN) ?? null;
      return at === null ? null : at - start;
    });
  }
  return series.steps.every(step => step === null) ? series.steps.map((_, i) => i) : series.steps;
}

/**
 * Smoothed values; an attempt starts anew.
 *
 * @param {Series} series
 * @param {number} weight 0 (none) to below 1
 * @returns {(number | null)[]}
 */
export function smoothed({ values, attempts }, weight) {
  /** @type {(number | null)[]} */
  const result = [];
  for (let from = 0; from < values.length;) {
    let to = from + 1;
    while (to < values.length && attempts[to] === attempts[from]) to++;
    result.push(...smooth(values.slice(from, to), weight));
    from = to;
  }
  return result;
}

/**
 * Points in drawing order, with a break between attempts.
 *
 * @param {(number | null)[]} xs
 * @param {(number | null)[]} ys
 * @param {number[]} attempts
 * @returns {{xs: (number | null)[], ys: (number | null)[]}}
 */
export function broken(xs, ys, attempts) {
  /** @type {{xs: (number | null)[], ys: (number | null)[]}} */
  const out = { xs: [], ys: [] };
  for (let i = 0; i < xs.length; i++) {
    if (i > 0 && attempts[i] !== attempts[i - 1]) {
      out.xs.push(null);
      out.ys.push(null);
    }
    out.xs.push(xs[i]);
    out.ys.push(ys[i]);
  }
  return out;
}

/**
 * At most four points a bucket: its first, lowest, highest, last; breaks survive.
 *
 * @param {(number | null)[]} xs
 * @param {(number | null)[]} ys
 * @param {number} limit
 * @returns {{xs: (number | null)[], ys: (number | null)[]}}
 */
export function thinned(xs, ys, limit) {
  if (xs.length <= limit) return { xs, ys };
  const buckets = Math.max(1, Math.floor(limit / 4));
  const keep = new Set();
  for (let bucket = 0; bucket < buckets; bucket++) {
    const from = Math.floor((bucket * xs.length) / buckets);
    const to = Math.floor(((bucket + 1) * xs.length) / buckets);
    let low = -1;
    let high = -1;
    for (let i = from; i < to; i++) {
      const y = ys[i];
      if (y === null) {
        keep.add(i);
        continue;
      }
      if (low < 0 || y < /** @type {number} */ (ys[low])) low = i;
      if (high < 0 || y > /** @type {number} */ (ys[high])) high = i;
    }
    [from, low, high, to - 1].filter(i => i >= 0).forEach(i => keep.add(i));
  }
  const kept = [...keep].sort((a, b) => a - b);
  return { xs: kept.map(i => xs[i]), ys: kept.map(i => ys[i]) };
}

/**
 * Words that a key or its explanation must hold, all of them.
 *
 * @param {string} filter
 * @returns {(key: string, words: string) => boolean}
 */
export function matcher(filter) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return (key, text) => {
    const hay = `${key} ${text}`.toLowerCase();
    return words.every(word => hay.includes(word));
  };
}
