/**
 * When engines were down, as shades behind the lines of metrics.
 *
 * @typedef {{from: number, to: number, text: string}} Fault Unix seconds
 */

import { seconds } from '../format.js';

/**
 * @param {import('../types').Frame} incidents the table
 * @returns {Fault[]} by time
 */
export function faultsOf({ length, columns }) {
  const { engine_rank: rank, addr, t_failed: failed, t_killed: killed, t_back: back, repair_s: repair } = columns;
  const found = Array.from({ length }, (_, i) => {
    const name = rank[i] === null ? addr[i] ?? 'an engine' : `engine ${rank[i]}`;
    const words = back[i] === null ? 'never back' : `back after ${seconds(repair[i])}`;
    return { from: failed[i], to: back[i] ?? killed[i] ?? failed[i], text: `${name} failed, ${words}` };
  });
  return found.sort((a, b) => a.from - b.from);
}

/**
 * Where a fault lies on the x axis of a chart.
 *
 * @param {Fault} fault
 * @param {'step' | 'time'} axis
 * @param {{start: number, times: Map<number, number>}} run times: when each rollout step was logged
 * @returns {[number, number] | null} steps in which it fell, half a step around, or seconds since the start; null for none
 */
export function faultSpan({ from, to }, axis, { start, times }) {
  if (axis === 'time') return [from - start, to - start];
  const steps = [...times].sort((a, b) => a[1] - b[1]);
  const first = steps.findIndex(([, time]) => time >= from);
  if (first < 0) return null;
  const last = steps.findIndex(([, time]) => time >= to);
  return [steps[first][0] - 0.5, steps[last < 0 ? steps.length - 1 : last][0] + 0.5];
}
