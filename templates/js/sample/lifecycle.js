/** Spans of one request as strips that follow each other: queued, generating, waiting on a tool. */

/** @typedef {import('./payload.js').Span} Span */
/**
 * @typedef {object} Strip
 * @property {'queued'|'gen'|'tool'} kind
 * @property {number} start Unix seconds
 * @property {number} end
 * @property {number} turn 0 where turns are not told apart
 * @property {string} version
 * @property {boolean} open not ended when the record stops
 */
/**
 * @typedef {object} Life
 * @property {number} start
 * @property {number} end
 * @property {number} attempts
 * @property {Strip[]} strips in time order, gaps of an attempt filled as queued
 */

const SHORTEST_S = 1e-6;

/**
 * @param {Span[]} spans of one sample
 * @returns {Life|null} null when no span has a time
 */
export function lifeOf(spans) {
  const times = spans.flatMap((span) => [span.t0, span.t1]).filter((time) => time !== null);
  const finite = /** @type {number[]} */ (times).filter(Number.isFinite);
  if (finite.length === 0) return null;
  const start = Math.min(...finite);
  const end = Math.max(...finite);
  const busy = spans
    .filter((span) => span.kind === 'gen' || span.kind === 'tool')
    .map((span) => strip(span, start, end))
    .sort((a, b) => a.start - b.start);
  const attempts = spans
    .filter((span) => span.kind === 'attempt')
    .map((span) => ({ start: span.t0 ?? start, end: span.t1 ?? end }));
  const queued = attempts.flatMap((attempt) => gaps(attempt, busy));
  return {
    start,
    end,
    attempts: attempts.length,
    strips: [...busy, ...queued].sort((a, b) => a.start - b.start),
  };
}

/**
 * @param {Span} span
 * @param {number} start
 * @param {number} end
 * @returns {Strip}
 */
function strip(span, start, end) {
  return {
    kind: span.kind === 'tool' ? 'tool' : 'gen',
    start: span.t0 ?? start,
    end: span.t1 ?? end,
    turn: Math.max(0, span.turn),
    version: span.kind === 'gen' ? (span.weight_version ?? '') : '',
    open: span.t1 === null,
  };
}

/**
 * @param {{start: number, end: number}} attempt
 * @param {Strip[]} busy in time order
 * @returns {Strip[]} the time of the attempt in which nothing ran
 */
function gaps(attempt, busy) {
  /** @type {Strip[]} */
  const found = [];
  let at = attempt.start;
  for (const one of busy) {
    if (one.end <= attempt.start || one.start >= attempt.end) continue;
    if (one.start - at > SHORTEST_S) found.push(queue(at, one.start));
    at = Math.max(at, one.end);
  }
  if (attempt.end - at > SHORTEST_S) found.push(queue(at, attempt.end));
  return found;
}

/**
 * @param {number} start
 * @param {number} end
 * @returns {Strip}
 */
function queue(start, end) {
  return { kind: 'queued', start, end, turn: 0, version: '', open: false };
}

/**
 * Round offsets for a time axis that begins at 0.
 * @param {number} span seconds
 * @param {number} most
 * @returns {number[]} without 0 and without the end's neighbourhood
 */
export function timeTicks(span, most) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];
  const step = steps.find((one) => span / one <= most) ?? Math.ceil(span / most / 86400) * 86400;
  const ticks = [];
  for (let at = step; at < span * 0.94; at += step) ticks.push(at);
  return ticks;
}
