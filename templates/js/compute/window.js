/**
 * The stretch of time that is looked at.
 *
 * @typedef {[from: number, to: number]} Span Unix seconds
 */

/** Closer than this there is nothing to see: GPUs are read once a second. */
export const LEAST_S = 2;

/**
 * A window inside the run, no shorter than the least; its middle stays where it can.
 *
 * @param {Span} span
 * @param {Span} whole
 * @returns {Span}
 */
export function kept([from, to], whole) {
  const all = whole[1] - whole[0];
  const size = Math.min(all, Math.max(to - from, Math.min(LEAST_S, all)));
  const middle = (from + to) / 2;
  const begin = Math.min(Math.max(middle - size / 2, whole[0]), whole[1] - size);
  return [begin, begin + size];
}

/**
 * @param {Span} span
 * @param {number} factor below 1 shows less time
 * @param {number} at stays in its place
 * @param {Span} whole
 * @returns {Span}
 */
export function zoomed([from, to], factor, at, whole) {
  const all = whole[1] - whole[0];
  const size = Math.min(all, Math.max((to - from) * factor, Math.min(LEAST_S, all)));
  const part = to > from ? (at - from) / (to - from) : 0.5;
  const begin = at - part * size;
  return kept([begin, begin + size], whole);
}

/**
 * @param {Span} span
 * @param {number} by seconds
 * @param {Span} whole
 * @returns {Span}
 */
export function moved([from, to], by, whole) {
  return kept([from + by, to + by], whole);
}

/**
 * @param {Span} span
 * @param {Span} whole
 * @returns {boolean}
 */
export function isWhole([from, to], whole) {
  return to - from >= (whole[1] - whole[0]) * 0.9999;
}

/**
 * A window as an address holds it: seconds since the start of the run.
 *
 * @param {Span} span
 * @param {Span} whole
 * @returns {string | null} null for the whole run
 */
export function windowText(span, whole) {
  if (isWhole(span, whole)) return null;
  const digits = span[1] - span[0] < 60 ? 2 : 1;
  return span.map(time => Number((time - whole[0]).toFixed(digits))).join(',');
}

/**
 * @param {string | null} text
 * @param {Span} whole
 * @returns {Span} the whole run for a text that is no window of it
 */
export function readWindow(text, whole) {
  const [from, to, ...rest] = (text ?? '').split(',').map(part => (part.trim() === '' ? NaN : Number(part)));
  if (!Number.isFinite(from) || !Number.isFinite(to) || rest.length || to < from) return whole;
  return kept([whole[0] + from, whole[0] + to], whole);
}
