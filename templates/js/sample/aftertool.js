/**
 * Whether trainer and engine disagree most right after tool output: sums over the trained tokens on
 * the page, by their distance from the end of a masked run.
 */

/** @typedef {import('./tokens.js').Tokens} Tokens */
/**
 * @typedef {object} AfterTool
 * @property {number} results masked runs that a turn follows
 * @property {number} tokenShare of trained tokens within WINDOW of one; per token
 * @property {number} differenceShare of the sum of |lp_diff| that they carry
 * @property {number[]} means mean |lp_diff| of the 1st, 2nd, … token after a result, over results
 */

export const WINDOW = 8;
export const SHOWN = 16;

/**
 * @param {Tokens} tokens
 * @returns {AfterTool|null} null without lp_diff or without a turn after tool output
 */
export function afterTool(tokens) {
  const series = tokens.data.series.get('lp_diff');
  const turns = tokens.segments.filter(
    (segment, index) => segment.kind === 'turn' && tokens.segments[index - 1]?.kind === 'masked',
  );
  if (!series || turns.length === 0) return null;
  const sums = new Float64Array(SHOWN);
  const counts = new Float64Array(SHOWN);
  let near = 0;
  let nearSum = 0;
  for (const turn of turns) {
    for (let i = turn.start; i < Math.min(turn.end, turn.start + SHOWN); i += 1) {
      const size = Math.abs(series.values[i]);
      if (!series.known[i] || !Number.isFinite(size)) continue;
      sums[i - turn.start] += size;
      counts[i - turn.start] += 1;
      if (i - turn.start >= WINDOW) continue;
      near += 1;
      nearSum += size;
    }
  }
  const all = total(series);
  if (all.count === 0 || all.sum === 0) return null;
  return {
    results: turns.length,
    tokenShare: near / all.count,
    differenceShare: nearSum / all.sum,
    means: [...sums].map((sum, index) => (counts[index] ? sum / counts[index] : 0)),
  };
}

/**
 * @param {import('./payload.js').Series} series
 * @param {number} [start]
 * @param {number} [end]
 * @returns {{sum: number, count: number}} of the finite magnitudes in [start, end)
 */
export function total(series, start = 0, end = series.values.length) {
  let sum = 0;
  let count = 0;
  for (let i = start; i < end; i += 1) {
    const size = Math.abs(series.values[i]);
    if (!series.known[i] || !Number.isFinite(size)) continue;
    sum += size;
    count += 1;
  }
  return { sum, count };
}
