/**
 * Phases of lanes.
 *
 * @typedef {import('../types').Frame} Frame
 *
 * @typedef {object} Phase
 * @property {string} name
 * @property {number} from Unix seconds
 * @property {number} to
 * @property {number | null} rank
 * @property {boolean} open it had not ended when the record stopped
 */

import { laneKey, processKey } from './lanes.js';

/** Painted below the others, as in the table `carpet`. */
const IDLE = new Set(['initialize', 'train_wait', 'sleep']);

/**
 * @param {Frame} frame the table `phases`, or `process_phases`, which knows no GPU
 * @returns {Map<string, Phase[]>} by key of the row, in the order in which they are painted: waiting first, then by start
 */
export function phasesByLane({ length, columns }) {
  const { name, t0, t1, node, gpu, rank, role, open } = columns;
  /** @type {Map<string, Phase[]>} */
  const found = new Map();
  for (let i = 0; i < length; i++) {
    const key = gpu ? laneKey(node[i], gpu[i]) : processKey(node[i], rank[i], role[i]);
    const phase = { name: name[i], from: t0[i], to: t1[i], rank: rank[i] >= 0 ? rank[i] : null, open: open[i] === true };
    const known = found.get(key);
    if (known) known.push(phase);
    else found.set(key, [phase]);
  }
  for (const phases of found.values()) phases.sort((a, b) => Number(IDLE.has(b.name)) - Number(IDLE.has(a.name)) || a.from - b.from);
  return found;
}

/**
 * @param {Phase[]} phases as of phasesByLane
 * @param {number} time
 * @returns {Phase | null} the one that is seen there
 */
export function phaseAt(phases, time) {
  for (let i = phases.length - 1; i >= 0; i--) {
    if (phases[i].from <= time && time < phases[i].to) return phases[i];
  }
  return null;
}
