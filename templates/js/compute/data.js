/**
 * What the lanes in a window show, read as it is needed.
 *
 * @typedef {import('../types').Catalog} Catalog
 * @typedef {import('../types').Context} Context
 * @typedef {import('../types').Frame} Frame
 * @typedef {import('./lanes.js').Row} Row
 * @typedef {import('./overview.js').StepSpan} StepSpan
 * @typedef {import('./samples.js').Series} Series
 * @typedef {import('./spans.js').Phase} Phase
 * @typedef {import('./window.js').Span} Span
 *
 * @typedef {object} Base what does not depend on the window
 * @property {Catalog} catalog
 * @property {Row[]} rows
 * @property {string[]} metrics in the order of the table, which slices count by
 * @property {StepSpan[]} steps
 * @property {{from: number, to: number, text: string}[]} faults
 * @property {boolean} hasGpus whether GPUs were read at all
 *
 * @typedef {object} View what is shown of a window
 * @property {Map<string, Phase[]>} phases by lane
 * @property {Map<string, Series>} gpus by lane
 * @property {Map<string, Series>} engines of the overlay, by address
 */

import { readSlice, readTable } from '../data/slices.js';
import { concatFrames } from '../data/frame.js';
import { faultsOf } from '../metrics/faults.js';
import { laneKey, readLanes, rowsOf } from './lanes.js';
import { ENGINES, GPUS, chooseWidth, intervalOf, pickLevel, readLevel, seriesOf } from './samples.js';
import { phasesByLane } from './spans.js';

/** Of the engine series: sums or means over the ranks of an engine. */
const FOLDED = null;

/**
 * @param {Context} context
 * @returns {Promise<Base>} rejects as readTable does
 */
export async function readBase(context) {
  const catalog = await context.catalog();
  const read = (/** @type {string} */ table) => readTable(context, catalog, table);
  const [lanes, topology, metrics, incidents, processes] = await Promise.all(['lanes', 'topology', 'engine_metrics', 'incidents', 'process_phases'].map(read));
  return {
    catalog,
    rows: rowsOf(readLanes(lanes), topology, processes),
    metrics: Array.from(metrics.columns.metric ?? []),
    steps: stepSpans(context.page.steps),
    faults: faultsOf(incidents),
    hasGpus: catalog.slices(GPUS.raw).some(slice => slice.rows > 0),
  };
}

/**
 * @param {{step: number, t0: number, t1: number, wait_ratio: number | null, overlap_fraction: number | null}[]} steps as the page knows them
 * @returns {StepSpan[]}
 */
function stepSpans(steps) {
  return steps.map(({ step, t0, t1, wait_ratio: wait, overlap_fraction: overlap }) => ({ step, from: t0, to: t1, wait, overlap }));
}

/**
 * A reader that keeps what it has grouped, so that the same window costs nothing.
 *
 * @param {Context} context
 * @param {Base} base
 */
export function createReader(context, { catalog, rows, metrics }) {
  const places = rows.flatMap(({ lane }) => (lane ? [lane] : []));
  const byIndex = new Map(places.map(lane => [lane.index, laneKey(lane.node, lane.gpu)]));
  /** @type {Map<string, any>} */
  const kept = new Map();

  /**
   * @template T
   * @param {string} kind
   * @param {string} key
   * @param {() => Promise<T>} make
   * @returns {Promise<T>} the newest of a kind is kept
   */
  async function newest(kind, key, make) {
    const known = kept.get(kind);
    if (known?.key === key) return known.value;
    const value = await make();
    kept.set(kind, { key, value });
    return value;
  }

  /**
   * @param {Row[]} shown
   * @param {Span} span
   * @param {number} pixels
   * @returns {Promise<Map<string, Series>>}
   */
  function gpus(shown, span, pixels) {
    const keys = shown.flatMap(({ lane }) => (lane ? [lane.index] : []));
    const slices = catalog.slices(GPUS.raw);
    if (!keys.length || !slices.length) return Promise.resolve(new Map());
    const width = chooseWidth(catalog, GPUS, span, pixels, intervalOf(slices, places.length));
    const wanted = { width, span, keys };
    const key = [width, keys, pickLevel(catalog, GPUS, wanted).map(slice => slice.path)].join(' ');
    return newest('gpus', key, async () => {
      const frame = await readLevel(context, catalog, GPUS, wanted);
      const chosen = new Set(shown.map(row => row.key));
      const { lane, node, gpu } = frame.columns;
      const names = ['util', 'mem_mb', 'power_w'];
      const found = seriesOf(frame, names, width, row => {
        const place = lane ? byIndex.get(lane[row]) ?? '' : laneKey(node[row], gpu[row]);
        return chosen.has(place) ? place : null;
      });
      for (const series of found.values()) forgetZeroPower(series);
      return found;
    });
  }

  /**
   * @param {string} metric
   * @param {Span} span
   * @param {number} pixels
   * @returns {Promise<Map<string, Series>>}
   */
  function engines(metric, span, pixels) {
    const keys = [metrics.indexOf(metric)];
    const slices = catalog.slices(ENGINES.raw).filter(slice => !slice.keys.metric || slice.keys.metric[0] === keys[0]);
    if (!slices.length) return Promise.resolve(new Map());
    const addrs = new Set(rows.flatMap(row => row.stays.map(stay => stay.addr))).size || 1;
    const width = chooseWidth(catalog, ENGINES, span, pixels, intervalOf(slices, addrs));
    const wanted = { width, span, keys };
    const key = [metric, width, pickLevel(catalog, ENGINES, wanted).map(slice => slice.path)].join(' ');
    return newest('engines', key, async () => {
      const frame = await readLevel(context, catalog, ENGINES, wanted);
      const { metric: name, dp_rank: rank, addr } = frame.columns;
      const isWanted = (/** @type {number} */ row) => name[row] === metric || name[row] === keys[0];
      return seriesOf(frame, ['value'], width, row => (rank[row] === FOLDED && isWanted(row) ? addr[row] : null));
    });
  }

  return {
    /**
     * @param {Row[]} shown
     * @param {Span} span
     * @param {string | null} overlay
     * @param {number} pixels
     * @returns {Promise<View>} rejects as readSlice does
     */
    async read(shown, span, overlay, pixels) {
      const [phasesOf, gpuSeries, engineSeries] = await Promise.all([
        phases(span), gpus(shown, span, pixels), overlay ? engines(overlay, span, pixels) : new Map(),
      ]);
      return { phases: phasesOf, gpus: gpuSeries, engines: engineSeries };
    },
    /**
     * @param {Row} row
     * @param {number} time Unix seconds
     * @returns {Promise<{pid: number, name: string | null, mem_mb: number | null}[]>} those of the newest reading before it
     */
    async processes({ lane }, time) {
      const all = catalog.slices('gpu_processes');
      if (!lane || !all.length) return [];
      const before = all.filter(slice => (slice.keys.ts?.[0] ?? -Infinity) <= time && (!slice.keys.lane || (slice.keys.lane[0] <= lane.index && lane.index <= slice.keys.lane[1])));
      const end = Math.max(...before.map(slice => Math.min(slice.keys.ts?.[1] ?? Infinity, time)), -Infinity);
      const near = before.filter(slice => (slice.keys.ts?.[1] ?? Infinity) >= end - PROCESS_AGE_S);
      const byLane = await newest('processes', near.map(slice => slice.path).join(' '), async () =>
        processRows(concatFrames(await Promise.all(near.map(slice => readSlice(context, slice))))));
      return newestReading(byLane.get(laneKey(lane.node, lane.gpu)) ?? [], time);
    },
  };

  /**
   * @param {Span} span
   * @returns {Promise<Map<string, Phase[]>>} of GPUs and of processes without one
   */
  async function phases(span) {
    const both = await Promise.all(['phases', 'process_phases'].map(table => {
      const slices = catalog.slices(table).filter(({ keys: { t0, t1 } }) => (!t0 || t0[0] <= span[1]) && (!t1 || t1[1] >= span[0]));
      return newest(table, slices.map(slice => slice.path).join(' '), async () =>
        phasesByLane(concatFrames(await Promise.all(slices.map(slice => readSlice(context, slice))))));
    }));
    return new Map(both.flatMap(found => [...found]));
  }
}

/**
 * A driver that does not know the power says 0.
 *
 * @param {Series} series changed
 */
export function forgetZeroPower({ values }) {
  const { high } = values.power_w;
  if (Array.from(high).some(watts => watts !== null && watts > 0)) return;
  const none = new Array(high.length).fill(null);
  values.power_w = { low: none, mean: none, high: none };
}

/** Processes are read every five seconds; an older reading tells nothing. */
const PROCESS_AGE_S = 30;

/**
 * @typedef {{ts: number, pid: number, name: string | null, mem_mb: number | null}} Process
 *
 * @param {Frame} frame the table `gpu_processes`
 * @returns {Map<string, Process[]>} by lane, by time
 */
function processRows({ length, columns }) {
  const { ts, node, gpu, pid, name, mem_mb: memory } = columns;
  /** @type {Map<string, Process[]>} */
  const found = new Map();
  for (let i = 0; i < length; i++) {
    const key = laneKey(node[i], gpu[i]);
    const one = { ts: ts[i], pid: pid[i], name: name[i], mem_mb: memory[i] };
    const known = found.get(key);
    if (known) known.push(one);
    else found.set(key, [one]);
  }
  for (const list of found.values()) list.sort((a, b) => a.ts - b.ts);
  return found;
}

/**
 * @param {Process[]} processes by time
 * @param {number} time
 * @returns {Process[]} the largest first
 */
function newestReading(processes, time) {
  const before = processes.filter(one => one.ts <= time);
  const newest = before.at(-1)?.ts ?? -Infinity;
  if (time - newest > PROCESS_AGE_S) return [];
  return before.filter(one => newest - one.ts < 1).sort((a, b) => (b.mem_mb ?? 0) - (a.mem_mb ?? 0));
}
