/**
 * What a row held at a moment, in words.
 *
 * @typedef {import('./draw.js').Scene} Scene
 * @typedef {import('./samples.js').Series} Series
 * @typedef {import('../ui/tooltip.js').Row} TipRow
 */

import { count, number, seconds, value as cell } from '../format.js';
import { labelOf } from './draw.js';
import { readingAt } from './samples.js';
import { phaseAt } from './spans.js';

/** Words and units of what is read off a GPU. @type {Record<string, [string, string]>} */
export const UNITS = { util: ['GPU utilization', '%'], mem_mb: ['GPU memory', 'MiB'], power_w: ['Power', 'W'] };

const MOST_PROCESSES = 6;

/**
 * @param {Scene} scene
 * @param {number} time Unix seconds
 * @param {{metric: string | null, processes: {pid: number, name: string | null, mem_mb: number | null}[], moment: (time: number) => string}} words
 * @returns {TipRow[]} for a tooltip; absent readings say so
 */
export function hoverRows(scene, time, { metric, processes, moment }) {
  /** @type {TipRow[]} */
  const rows = [];
  const phase = phaseAt(scene.phases, time);
  if (phase) {
    const rank = phase.rank === null ? '' : `, rank ${phase.rank}`;
    rows.push({ label: 'Phase', value: labelOf(phase.name) + rank });
    rows.push({ label: 'Since', value: moment(phase.from), detail: phase.open ? 'not ended' : `lasts ${seconds(phase.to - phase.from)}` });
  } else if (scene.row.lane || scene.phases.length) {
    rows.push({ label: 'Phase', value: 'none' });
  }
  if (scene.gpu) {
    for (const [name, [label, unit]] of Object.entries(UNITS)) rows.push({ label, ...reading(scene.gpu, name, time, unit) });
  }
  const stay = scene.row.stays.find(one => one.from <= time && time < one.to);
  if (stay) {
    rows.push({ label: 'Engine', value: stay.addr.replace(/^https?:\/\//, ''), detail: stay.rank === null ? '' : `rank ${stay.rank}` });
    const series = scene.engines.get(stay.addr);
    if (metric) rows.push({ label: metric, ...(series ? reading(series, 'value', time, '') : { value: 'no data' }) });
  }
  for (const { pid, name, mem_mb: memory } of processes.slice(0, MOST_PROCESSES)) {
    rows.push({ label: `${name ?? 'process'} (${pid})`, value: memory === null ? '–' : `${count(memory)} MiB` });
  }
  if (processes.length > MOST_PROCESSES) rows.push({ label: 'more processes', value: count(processes.length - MOST_PROCESSES) });
  return rows;
}

/**
 * @param {Series} series
 * @param {string} name
 * @param {number} time
 * @param {string} unit
 * @returns {{value: string, detail?: string}}
 */
function reading(series, name, time, unit) {
  const at = readingAt(series, time);
  if (at < 0) return { value: 'no data' };
  const { low, mean, high } = series.values[name];
  const value = mean[at];
  if (value === null) return { value: 'not told' };
  const text = `${name === 'value' ? cell(value, 'number') : shortly(value)}${unit ? ` ${unit}` : ''}`;
  if (low[at] === high[at]) return { value: text };
  return { value: text, detail: `${number(low[at])} – ${number(high[at])} within ${seconds(series.width)}` };
}

/** @param {number} value @returns {string} */
function shortly(value) {
  return Number.isInteger(value) ? count(value) : number(value);
}
