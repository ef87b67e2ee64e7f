import assert from 'node:assert/strict';
import { test } from 'node:test';

import { faultSpan, faultsOf } from '../../templates/js/metrics/faults.js';
import { chosenLines, readEngines, writeEngines } from '../../templates/js/metrics/engines.js';
import { axisUnit, carried, xDomains } from '../../templates/js/metrics/axes.js';
import { broken, categoryOf, groupSeries, matcher, positions, smoothed, sortSections, stepTimes, thinned } from '../../templates/js/metrics/series.js';
import { readState, toggled, writePins, writeState } from '../../templates/js/metrics/state.js';

const PLAIN = ['rollout/step', 'train/step', 'eval/step'];

/** Rows of [ts, attempt, step_key, step, key, value, text]. */
function frame(rows) {
  const names = ['ts', 'attempt', 'step_key', 'step', 'key', 'value', 'text'];
  return { length: rows.length, names, columns: Object.fromEntries(names.map((name, i) => [name, rows.map(row => row[i])])) };
}

test('rows become one series an axis and key, in file order', () => {
  const all = groupSeries(frame([
    [10, 0, 'rollout/step', 0, 'a/x', 1, null],
    [11, 0, 'train/step', 0, 'a/x', 5, null],
    [12, 0, 'rollout/step', 0, 'a/x', 2, null],
    [13, 0, 'rollout/step', 1, 'a/x', null, null],
  ]), PLAIN);
  assert.deepEqual(all.map(series => [series.stepKey, series.values]), [['rollout/step', [1, 2, null]], ['train/step', [5]]]);
  assert.equal(all[0].gaps, 1);
  assert.equal(all[0].last, null);
});

test('text and constant series know what they are', () => {
  const [text, constant, single] = groupSeries(frame([
    [1, 0, 'rollout/step', 0, 'a/name', null, 'x'],
    [1, 0, 'rollout/step', 0, 'a/lr', 3, null],
    [2, 0, 'rollout/step', 1, 'a/lr', 3, null],
    [2, 0, 'rollout/step', 1, 'a/one', 3, null],
  ]), PLAIN);
  assert.ok(text.isText);
  assert.equal(text.gaps, 0);
  assert.ok(constant.isConstant && !constant.isText);
  assert.ok(!single.isConstant);
});

test('keys that are names of objects are ordinary keys', () => {
  const all = groupSeries(frame([
    [1, 0, 'rollout/step', 0, '__proto__', 1, null],
    [1, 0, '__proto__', 0, 'constructor', 2, null],
  ]), PLAIN);
  assert.deepEqual(all.map(series => series.values), [[1], [2]]);
});

test('adapter axes are sections of their own, behind the others', () => {
  assert.equal(categoryOf('train/loss', 'train/step', PLAIN), 'train');
  assert.equal(categoryOf('train/loss', 'math/step', PLAIN), 'math · train');
  for (const key of ['loss', '/loss', ' /loss', '']) assert.equal(categoryOf(key, '', PLAIN), 'other');
  assert.equal(categoryOf('a/b/c', '', PLAIN), 'a');
  assert.deepEqual(sortSections(['zeta', 'math · train', 'dump', 'alpha', 'rollout'], ['rollout', 'dump']),
    ['rollout', 'dump', 'alpha', 'zeta', 'math · train']);
});

test('values computed from dumps take the time of their step', () => {
  const all = groupSeries(frame([
    [100, 0, 'rollout/step', 0, 'perf/t', 1, null],
    [140, 0, 'rollout/step', 0, 'perf/u', 1, null],
    [null, null, 'rollout/step', 0, 'dump/r', 1, null],
    [null, null, 'rollout/step', 1, 'dump/r', 1, null],
  ]), PLAIN);
  const times = stepTimes(all);
  assert.deepEqual(positions(all[2], 'time', times, 90), [50, null]);
  assert.deepEqual(positions(all[2], 'step', times, 90), [0, 1]);
});

test('a series without steps counts its records', () => {
  const [series] = groupSeries(frame([[1, 0, null, null, 'a', 4, null], [2, 0, null, null, 'a', 5, null]]), PLAIN);
  assert.deepEqual(positions(series, 'step', new Map(), 0), [0, 1]);
});

test('smoothing starts anew with an attempt and leaves gaps', () => {
  const soft = smoothed({ values: [1, 3, null, 9, 9], attempts: [0, 0, 0, 1, 1] }, 0.5);
  assert.equal(soft[0], 1);
  assert.ok(Math.abs(soft[1] - 7 / 3) < 1e-12);
  assert.equal(soft[2], null);
  assert.deepEqual(soft.slice(3), [9, 9]);
});

test('attempts are not joined', () => {
  assert.deepEqual(broken([0, 1, 1], [5, 6, 7], [0, 0, 1]), { xs: [0, 1, null, 1], ys: [5, 6, null, 7] });
});

test('thinning keeps ends, extremes and breaks', () => {
  const xs = Array.from({ length: 10_000 }, (_, i) => i);
  const ys = xs.map(() => 0.5);
  ys[777] = -3;
  ys[778] = 8;
  ys[5000] = null;
  const thin = thinned(xs, ys, 400);
  assert.ok(thin.xs.length <= 401);
  for (const i of [0, 777, 778, 5000, 9999]) assert.ok(thin.xs.includes(i), String(i));
  assert.deepEqual(thin.xs, [...thin.xs].sort((a, b) => a - b));
});

test('a filter wants every word, in key or explanation', () => {
  const matches = matcher('  LP diff ');
  assert.ok(matches('dump/mean_abs_lp_diff', ''));
  assert.ok(matches('train/x', 'the lp of a diff'));
  assert.ok(!matches('train/lp', ''));
  assert.ok(matcher('')('anything', ''));
});

test('rollout and eval steps are one axis, optimiser steps run beside it', () => {
  const { domain, main } = xDomains([
    { stepKey: 'rollout/step', xs: [0, 19] },
    { stepKey: 'eval/step', xs: [4, 24] },
    { stepKey: 'train/step', xs: [0, 99] },
  ], 'step');
  assert.deepEqual(main, [0, 24]);
  assert.deepEqual(domain('eval/step'), [0, 24]);
  assert.deepEqual(domain('train/step'), [0, 99]);
  assert.deepEqual(xDomains([{ stepKey: 'train/step', xs: [1, 2] }], 'time').domain('rollout/step'), [1, 2]);
  assert.deepEqual(xDomains([], 'step').main, [0, 1]);
});

test('a place on one axis is the same share of the other', () => {
  assert.equal(carried(5, [0, 10], [0, 100]), 50);
  assert.equal(carried(5, [5, 5], [0, 100]), 0);
  assert.equal(carried(7, [3, 9], [3, 9]), 7);
});

test('axis units follow size and spread', () => {
  assert.deepEqual(axisUnit('frac', '', [0, 1]), { factor: 100, unit: '%' });
  assert.deepEqual(axisUnit('number', 'nats', [0, 1]), { factor: 1, unit: 'nats' });
  assert.equal(axisUnit('seconds', '', [0, 10]).unit, 's');
  assert.equal(axisUnit('seconds', '', [900, 1300]).unit, 'min');
  assert.equal(axisUnit('seconds', '', [1300, 1301]).unit, 's');
  assert.equal(axisUnit('seconds', '', [7200, 9000]).unit, 'h');
});

test('a link brings back the state, whatever the keys hold', () => {
  const state = {
    filter: 'lp & "x"', smoothing: 0.6, log: true, axis: 'time', columns: 2, zoom: [3, 9.5],
    pins: ['rollout/step|a,b/c', 'x|%20|€'],
  };
  const params = new URLSearchParams(Object.entries(writeState(state)));
  assert.deepEqual(readState(new URLSearchParams(params.toString()), null), state);
});

test('the usual state leaves the address clean; nonsense is the usual state', () => {
  const usual = readState(new URLSearchParams('zoom=9:3&smooth=-1&x=banana&y=&pins=%25E0%25A4'), null);
  assert.deepEqual(usual, { filter: '', smoothing: 0, log: false, axis: 'step', columns: 3, zoom: null, pins: null });
  assert.ok(Object.values(writeState(usual)).every(value => value === null));
  assert.equal(readState(new URLSearchParams('smooth=5'), null).smoothing, 0.99);
});

test('pins are remembered where the address has none, and can be emptied', () => {
  assert.deepEqual(readState(new URLSearchParams(''), writePins(['a|b'])).pins, ['a|b']);
  assert.deepEqual(readState(new URLSearchParams('pins=c%7Cd'), writePins(['a|b'])).pins, ['c|d']);
  assert.deepEqual(readState(new URLSearchParams('pins='), null).pins, []);
  assert.deepEqual(toggled(['a', 'b'], 'a'), ['b']);
  assert.deepEqual(toggled(['a'], 'b'), ['a', 'b']);
});

test('an engine is one line or one a dp rank, and one without ranks stays', () => {
  const lines = [{ addr: 'b', rank: null }, { addr: 'b', rank: '10' }, { addr: 'b', rank: '2' }, { addr: 'a', rank: null }];
  assert.deepEqual(chosenLines(lines, false).map(line => [line.addr, line.rank]), [['a', null], ['b', null]]);
  assert.deepEqual(chosenLines(lines, true).map(line => [line.addr, line.rank]), [['a', null], ['b', '2'], ['b', '10']]);
});

test('the address holds window, split and engines that are off', () => {
  /** @type {[number, number]} */
  const whole = [100, 500];
  const address = { t: '10,60', dp: '1', off: 'http://a:1 http://b:1' };
  const state = readEngines({ get: (/** @type {string} */ name) => /** @type {any} */ (address)[name] ?? null }, whole);
  assert.deepEqual(state, { span: [110, 160], split: true, hidden: ['http://a:1', 'http://b:1'], filter: '' });
  assert.deepEqual(writeEngines(state, whole), address);
});

test('a fault is shaded where it fell, in time and in steps', () => {
  const columns = { engine_rank: [3, null], addr: ['a', 'http://b'], t_failed: [120, 310], t_killed: [125, 312], t_back: [260, null], repair_s: [135, null] };
  const [first, second] = faultsOf({ length: 2, names: [], columns });
  assert.match(first.text, /^engine 3 failed, back after/);
  assert.equal(second.text, 'http://b failed, never back');
  const run = { start: 100, times: new Map([[0, 110], [1, 200], [2, 300]]) };
  assert.deepEqual(faultSpan(first, 'time', run), [20, 160]);
  assert.deepEqual(faultSpan(first, 'step', run), [0.5, 2.5]);
  assert.equal(faultSpan(second, 'step', run), null);
});
