import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { clockTicks, momentText, tickText } from '../../templates/js/compute/clock.js';
import { forgetZeroPower } from '../../templates/js/compute/data.js';
import { LaneError, isWord, laneWords, parseLanes } from '../../templates/js/compute/grammar.js';
import { hoverRows } from '../../templates/js/compute/hover.js';
import { joined, readLanes, rowsOf } from '../../templates/js/compute/lanes.js';
import { GPUS, chooseWidth, envelope, intervalOf, medianStep, pickLevel, readingAt, seriesOf } from '../../templates/js/compute/samples.js';
import { barAt } from '../../templates/js/compute/stepbars.js';
import { phaseAt, phasesByLane } from '../../templates/js/compute/spans.js';
import { orderedMetrics, readState, writeState } from '../../templates/js/compute/state.js';
import { isWhole, kept, moved, readWindow, windowText, zoomed } from '../../templates/js/compute/window.js';
import { chosenRows } from '../../templates/js/views/compute.js';

const CASES = JSON.parse(readFileSync(new URL('../data/lane_cases.json', import.meta.url), 'utf8'));
/** @type {[number, number]} */
const RUN = [1000, 4600];

/** @param {Record<string, any>[]} rows @returns {any} */
function frame(rows) {
  const names = Object.keys(rows[0] ?? {});
  return { length: rows.length, names, columns: Object.fromEntries(names.map(name => [name, rows.map(row => row[name])])) };
}

/** @param {Record<string, string>} values @returns {any} */
function url(values) {
  return { get: (/** @type {string} */ name) => values[name] ?? null };
}

/** @param {Record<string, any[]>} tables @returns {any} */
function catalog(tables) {
  return { slices: (/** @type {string} */ name) => tables[name] ?? [] };
}

/** @param {Record<string, any>} keys @returns {any} */
function slice(keys, rows = 100) {
  return { path: JSON.stringify(keys), rows, keys };
}

test('words choose the lanes that the command line chooses', () => {
  const lanes = readLanes(frame(CASES.lanes));
  for (const [expression, indices] of CASES.selections) {
    const placeOf = parseLanes(laneWords(expression));
    assert.deepEqual(lanes.filter(lane => placeOf(lane) >= 0).map(lane => lane.index), indices, expression);
  }
  for (const token of CASES.wrong) {
    assert.throws(() => parseLanes(['g:0', token]), error => error instanceof LaneError && error.message.includes(token), token);
    assert.equal(isWord(token), false);
  }
});

test('a window stays inside the run and keeps its middle', () => {
  assert.deepEqual(kept([900, 1000], RUN), [1000, 1100]);
  assert.deepEqual(kept([4500, 4800], RUN), [4300, 4600]);
  assert.deepEqual(kept([2000, 2000.1], RUN), [1999.05, 2001.05]);
  assert.deepEqual(kept([0, 9000], RUN), RUN);
  assert.deepEqual(kept([5, 6], [0, 1]), [0, 1]);
});

test('what is pointed at stays where it is while zooming', () => {
  const [from, to] = zoomed([2000, 3000], 0.5, 2250, RUN);
  assert.equal((2250 - from) / (to - from), 0.25);
  assert.equal(to - from, 500);
  assert.deepEqual(zoomed(RUN, 2, 2000, RUN), RUN);
  assert.deepEqual(moved([2000, 3000], -5000, RUN), [1000, 2000]);
  assert.ok(isWhole(RUN, RUN));
});

test('an address holds a window as seconds of the run', () => {
  assert.equal(windowText([1120, 1360], RUN), '120,360');
  assert.equal(windowText(RUN, RUN), null);
  assert.deepEqual(readWindow('120,360', RUN), [1120, 1360]);
  for (const text of [null, '', 'x', '1', '1,2,3', '5,1', '1,']) assert.deepEqual(readWindow(text, RUN), RUN, String(text));
});

test('ticks are round in the clock that is shown', () => {
  assert.deepEqual(clockTicks([1000, 4600], 1000, 6).map(({ time }) => time - 1000), [0, 600, 1200, 1800, 2400, 3000, 3600]);
  assert.deepEqual(clockTicks([1770163205, 1770163235], 0, 4).map(({ time }) => time % 10), [0, 0, 0]);
  assert.equal(tickText(1600, 1000, 600), '+0:10');
  assert.equal(tickText(1601, 1000, 1), '+0:10:01');
  assert.equal(tickText(1770163200, 0, 600), '00:00');
  assert.equal(tickText(1770163200, 0, 86400), '02-04');
  assert.equal(momentText(1601.26, 1000, true), '+0:10:01.2');
  assert.equal(momentText(1770163200.5, 0, true), '2026-02-04 00:00:00.5 UTC');
});

test('the state of an address is the one that is written', () => {
  const metrics = orderedMetrics(['b', 'sglang_token_usage', 'a', 'sglang_num_running_reqs']);
  assert.deepEqual(metrics, ['sglang_num_running_reqs', 'sglang_token_usage', 'a', 'b']);
  const bare = readState(url({}), RUN, metrics);
  assert.deepEqual(bare, { span: RUN, lanes: [], overlay: 'sglang_num_running_reqs', shown: ['util'], utc: false });
  assert.deepEqual(Object.values(writeState(bare, RUN, metrics)), [null, null, null, null, null]);
  const address = { t: '60,120', lanes: 'rank:5,gpu:fd00::1:0', overlay: 'none', show: 'mem_mb,power_w', clock: 'utc' };
  const state = readState(url(address), RUN, metrics);
  assert.deepEqual(writeState(state, RUN, metrics), address);
  assert.equal(readState(url({ overlay: 'gone' }), RUN, metrics).overlay, 'sglang_num_running_reqs');
  assert.equal(readState(url({}), RUN, []).overlay, null);
});

const NONE = frame([]);
NONE.columns = { node: [], rank: [], role: [] };
const TOPOLOGY = frame([
  { t0: 0, t1: 50, addr: 'http://n1:1', engine_rank: 0, gpus: ['n1:0'] },
  { t0: 50, t1: 80, addr: 'http://n1:1', engine_rank: 0, gpus: ['n1:0'] },
  { t0: 80, t1: null, addr: 'http://n1:2', engine_rank: 0, gpus: ['n1:0'] },
  { t0: 0, t1: null, addr: 'http://far:9', engine_rank: -1, gpus: [] },
]);

test('a lane knows its engines in time; engines without a GPU have rows of their own', () => {
  const lanes = readLanes(frame([{ index: 0, node: 'n1', gpu: 0, ranks: [3], engine_addrs: ['http://n1:1'], roles: ['rollout', 'train'] }]));
  const [gpu, engine] = rowsOf(lanes, TOPOLOGY, NONE);
  assert.deepEqual(gpu.stays.map(({ addr, from, to }) => [addr, from, to]), [['http://n1:1', 0, 80], ['http://n1:2', 80, Infinity]]);
  assert.equal(gpu.title, 'rank 3');
  assert.equal(gpu.note, 'train and rollout share it');
  assert.equal(engine.key, 'http://far:9');
  assert.equal(engine.lane, null);
  assert.deepEqual([engine.title, engine.stays[0].rank], ['external engine', null]);
  assert.deepEqual(joined([]), []);
});

test('of a large fleet some lanes are drawn, in the order of the words, and told so', () => {
  const lanes = readLanes(frame(CASES.lanes));
  const rows = rowsOf(lanes, TOPOLOGY, NONE);
  const settings = { most: 4, limit: 2, usual: ['g:3', 'g:1'] };
  const usual = chosenRows(rows, [], settings);
  assert.deepEqual(usual.rows.map(row => row.lane?.index), [3, 1]);
  assert.match(usual.words, /^2 of 6 lanes: those that stand out/);
  assert.match(chosenRows(rows, ['all'], settings).words, /^the first 2 of 6 chosen/);
  assert.equal(chosenRows(rows, [], { most: 64, limit: 32, usual: [] }).rows.length, 6);
  assert.equal(chosenRows(rows, ['engine:far'], settings).rows[0].key, 'http://far:9');
  assert.deepEqual(chosenRows(rows, ['bogus'], settings), { rows: [], words: 'no lane matches' });
  assert.deepEqual(chosenRows(rows, ['bogus', 'g:1'], settings).rows.map(row => row.lane?.index), [1]);
});

test('a process without a GPU has a row and its phases', () => {
  const records = frame([
    { name: 'train', t0: 0, t1: 9, node: 'n', rank: 1, role: 'train', open: false },
    { name: 'rollout', t0: 0, t1: 9, node: 'n', rank: -1, role: 'rollout_manager', open: false },
  ]);
  const rows = rowsOf([], { ...TOPOLOGY, length: 0 }, records);
  assert.deepEqual(rows.map(row => row.title), ['rank 1', 'rollout manager']);
  const phases = phasesByLane(records);
  assert.deepEqual(rows.map(row => phases.get(row.key)?.[0].name), ['train', 'rollout']);
  assert.deepEqual(chosenRows(rows, ['rank:1'], { most: 64, limit: 32, usual: [] }).rows, [rows[0]]);
});

test('of nested phases the one that began last is seen, and waiting never hides work', () => {
  const place = { node: 'n', gpu: 0, rank: 1, open: false };
  const phases = phasesByLane(frame([
    { name: 'train', t0: 0, t1: 100, ...place }, { name: 'actor_train', t0: 10, t1: 50, ...place },
    { name: 'train_wait', t0: 40, t1: 120, ...place, rank: -1 },
  ])).get('n:0') ?? [];
  assert.deepEqual([5, 20, 45, 60, 110, 130].map(time => phaseAt(phases, time)?.name), ['train', 'actor_train', 'actor_train', 'train', 'train_wait', undefined]);
  assert.equal(phases[0].rank, null);
});

/** @param {[number, number | null][]} readings @returns {import('../../templates/js/compute/samples.js').Series} */
function series(readings) {
  const rows = readings.map(([ts, util]) => ({ ts, util }));
  const found = seriesOf(frame(rows), ['util'], 0, () => 'x').get('x');
  assert.ok(found);
  return found;
}

test('a reading holds until the next, at most three intervals', () => {
  const one = series([[0, 10], [1, 20], [2, 30], [10, 40], [11, 50]]);
  assert.equal(one.step, 1);
  assert.equal(readingAt(one, 1.5), 1);
  assert.equal(readingAt(one, 4.9), 2);
  assert.equal(readingAt(one, 5.1), -1);
  assert.equal(readingAt(one, -1), -1);
  assert.equal(readingAt(one, 12.5), -1);
  assert.equal(medianStep([7]), 1);
});

test('sparse readings do not stripe and a gap is no data', () => {
  const { mean } = envelope(series([[0, 10], [5, 20], [10, 30], [40, 40]]), 'util', [0, 50], 50);
  assert.ok([0, 3, 7, 12, 20].every(pixel => !Number.isNaN(mean[pixel])));
  assert.ok(Number.isNaN(mean[30]));
  assert.equal(mean[42], 40);
});

test('a pixel keeps the extremes of all readings in it, and what is not told is no zero', () => {
  const { low, mean, high } = envelope(series([[0, 0], [1, 90], [2, null], [3, 30], [4, 50]]), 'util', [0, 4], 1);
  assert.deepEqual([low[0], mean[0], high[0]], [0, 40, 90]);
});

test('the coarsest level that still fills the pixels is read, from the slices it lies in', () => {
  const levels = [10, 60].flatMap(width => [0, 4096].map(ts => slice({ width_s: [width, width], lane: [0, 7], ts: [ts, ts + 4000] })));
  const raw = [slice({ lane: [0, 7], ts: [0, 4000] }, 8 * 4000), slice({ lane: [8, 15], ts: [0, 4000] }, 8 * 4000)];
  const tables = catalog({ gpu_util: raw, gpu_levels: levels });
  assert.equal(intervalOf(raw, 16), 1);
  assert.equal(chooseWidth(tables, GPUS, [0, 120], 1000, 1), 0);
  assert.equal(chooseWidth(tables, GPUS, [0, 20000], 1000, 1), 10);
  assert.equal(chooseWidth(tables, GPUS, [0, 9e6], 1000, 1), 60);
  assert.equal(chooseWidth(catalog({ gpu_util: raw }), GPUS, [0, 9e6], 1000, 1), 0);
  assert.equal(pickLevel(tables, GPUS, { width: 60, span: [0, 100], keys: [3] }).length, 1);
  assert.equal(pickLevel(tables, GPUS, { width: 0, span: [0, 100], keys: [3, 9] }).length, 2);
  assert.equal(pickLevel(tables, GPUS, { width: 0, span: [0, 100], keys: [99] }).length, 0);
});

test('a level keeps least, mean and greatest', () => {
  const found = seriesOf(frame([{ ts: 0, util_min: 1, util_mean: 5, util_max: 9 }]), ['util'], 60, () => 'x').get('x');
  assert.deepEqual(found?.values.util, { low: [1], mean: [5], high: [9] });
  assert.equal(found?.step, 60);
});

test('under the pointer stands what the tables say, and what is missing is said', () => {
  const row = rowsOf(readLanes(frame([{ index: 0, node: 'n1', gpu: 0, ranks: [3], engine_addrs: [], roles: [] }])), TOPOLOGY, NONE)[0];
  const gpu = seriesOf(frame([{ ts: 10, util: null, mem_mb: 39000, power_w: 0 }, { ts: 11, util: 7, mem_mb: 39000, power_w: 0 }]), ['util', 'mem_mb', 'power_w'], 0, () => 'x').get('x') ?? null;
  /** @type {any} */
  const scene = { row, phases: [{ name: 'rollout', from: 0, to: 60, rank: 3, open: true }], gpu, engines: new Map(), shown: ['util'], tops: {} };
  const words = { metric: 'm', processes: [{ pid: 7, name: null, mem_mb: 512 }], moment: String };
  const rows = hoverRows(scene, 10.5, words).map(({ label, value, detail }) => [label, value, detail ?? ''].join('|'));
  assert.deepEqual(rows, [
    'Phase|Rollout, rank 3|', 'Since|0|not ended', 'GPU utilization|not told|', 'GPU memory|39\u202f000 MiB|', 'Power|0 W|',
    'Engine|n1:1|rank 0', 'm|no data|', 'process (7)|512 MiB|',
  ]);
});

test('a power of 0 alone is no reading; a lane that idles at times is one', () => {
  const read = (/** @type {number[]} */ watts) => {
    const found = seriesOf(frame(watts.map((power_w, ts) => ({ ts, power_w }))), ['power_w'], 0, () => 'x').get('x');
    assert.ok(found);
    forgetZeroPower(found);
    return found.values.power_w.mean;
  };
  assert.deepEqual(read([0, 0]), [null, null]);
  assert.deepEqual(read([0, 90]), [0, 90]);
});

test('a place over the bars of steps is one of them', () => {
  /** @type {[number, number, number][]} */
  const bars = [[3, 0, 10], [4, 10, 25]];
  assert.deepEqual([-0.1, 0, 0.49, 0.5, 0.99, 1].map(share => barAt(share, bars)?.[0] ?? null), [null, 3, 3, 4, 4, null]);
});
