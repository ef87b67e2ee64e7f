import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepLegend, stepWords, versionSteps } from '../../templates/js/marks/versions.js';
import { spread } from '../../templates/js/marks/axis.js';
import { bin } from '../../templates/js/marks/bars.js';
import { boxOf } from '../../templates/js/marks/brush.js';
import { linePath, lonePath, smooth } from '../../templates/js/marks/line.js';
import { nearestPoint } from '../../templates/js/marks/points.js';
import { extent, linearScale, logScale, nearestIndex, niceDomain, tickFormat, ticks, timeScale } from '../../templates/js/marks/scale.js';

test('a linear scale maps and comes back', () => {
  const x = linearScale([0, 10], [100, 200]);
  assert.equal(x(5), 150);
  assert.equal(x.invert(175), 7.5);
  assert.equal(linearScale([3, 3], [0, 10])(3), 5);
});

test('a log scale maps decades evenly; zero has no place on it', () => {
  const y = logScale([0.01, 100], [400, 0]);
  assert.equal(Math.round(y(1)), 200);
  assert.ok(Math.abs(y.invert(100) - 10) < 1e-9);
  assert.ok(!Number.isFinite(y(0)));
  assert.deepEqual(y.ticks(5), [0.01, 0.1, 1, 10, 100]);
  assert.deepEqual(logScale([1, 10], [0, 1]).ticks(5), [1, 2, 5, 10]);
  assert.deepEqual(logScale([0, 10], [0, 1]).ticks(5), []);
});

test('ticks are round and inside', () => {
  assert.deepEqual(ticks([0, 1], 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticks([0.312, 0.583], 4), [0.4, 0.5]);
  assert.deepEqual(ticks([-2, 4.2], 4), [-2, 0, 2, 4]);
  assert.deepEqual(ticks([5, 5]), [5]);
  assert.deepEqual(ticks([NaN, NaN]), []);
  assert.ok(ticks([0, 0.3], 4).every(value => String(value).length < 6));
});

test('a nice domain ends on ticks and has room around a constant', () => {
  assert.deepEqual(niceDomain([0.312, 0.583], 4), [0.3, 0.6]);
  assert.deepEqual(niceDomain([0, 0]), [-1, 1]);
  const [low, high] = niceDomain([7, 7]);
  assert.ok(low < 7 && high > 7);
});

test('ticks are written with the decimals of their step', () => {
  const write = values => values.map(tickFormat(values));
  assert.deepEqual(write([0.3, 0.4, 0.5, 0.6]), ['0.3', '0.4', '0.5', '0.6']);
  assert.deepEqual(write([0, 0.004, 0.008]), ['0.000', '0.004', '0.008']);
  assert.deepEqual(write([0, 0.25, 0.5]), ['0.00', '0.25', '0.50']);
  assert.deepEqual(write([3000, 5000, 7000]), ['3\u202f000', '5\u202f000', '7\u202f000']);
  assert.deepEqual(write([24000, 28000, 32000]), ['24k', '28k', '32k']);
  assert.deepEqual(write([0, 4e-7, 8e-7]), ['0', '4e−7', '8e−7']);
  assert.deepEqual([0.001, 0.1, 1, 1e7].map(tickFormat([0.001, 1e7], 'log')), ['0.001', '0.1', '1', '1e7']);
});

test('time ticks are whole minutes or hours', () => {
  assert.deepEqual(timeScale([0, 3600], [0, 1]).ticks(5), [0, 900, 1800, 2700, 3600]);
  assert.deepEqual(timeScale([0, 6 * 3600], [0, 1]).ticks(4), [0, 7200, 14400, 21600]);
  assert.equal(tickFormat([0, 900], 'time')(900), '+0:15:00');
  assert.deepEqual(timeScale([-0.5, 0.5], [0, 1]).ticks(5), [0]);
  assert.deepEqual(timeScale([0, 2], [0, 1]).ticks(5), [0, 1, 2]);
});

test('extent leaves out what is absent or not finite', () => {
  assert.deepEqual(extent([null, 3, NaN], [Infinity, -1]), [-1, 3]);
  assert.equal(extent([null, NaN]), null);
});

test('the nearest index of ascending numbers', () => {
  assert.deepEqual([-5, 0, 1.4, 1.6, 99].map(value => nearestIndex([0, 1, 2, 4], value)), [0, 0, 1, 2, 3]);
  assert.equal(nearestIndex([], 1), -1);
});

test('a line breaks at absent values, and a lone value is a dot', () => {
  const x = linearScale([0, 10], [0, 10]);
  const y = linearScale([0, 10], [10, 0]);
  assert.equal(linePath([0, 1, 2, 3, 4], [1, 2, null, NaN, 5], x, y), 'M0,9L1,8M4,5h0');
  assert.equal(linePath([0, 1, 2], [1, null, 3], x, y), 'M0,9h0M2,7h0');
  assert.equal(linePath([], [], x, y), '');
  assert.equal(lonePath('M0,9L1,8M4,5h0M6,7h0'), 'M4,5h0M6,7h0');
  assert.equal(lonePath('M0,9L1,8'), '');
});

test('smoothing keeps constants, gaps and the first value', () => {
  assert.deepEqual(smooth([4, 4, null, 4], 0.9).map(value => value && Math.round(value * 1e9) / 1e9), [4, 4, null, 4]);
  assert.deepEqual(smooth([1, 3], 0), [1, 3]);
  const [first, second] = smooth([0, 1], 0.5);
  assert.equal(first, 0);
  assert.ok(Math.abs(second - 0.5 / 0.75) < 1e-12);
});

test('labels never touch; the first and the one asked for stay', () => {
  const texts = [0, 5, 10, 15, 18, 19].map(value => ({ value, at: value * 10, text: String(value) }));
  texts[0].text = 'step 0';
  assert.deepEqual(spread(texts, 19).map(label => label.text), ['step 0', '5', '10', '15', '19']);
});

test('bins count once, the last holds its upper end', () => {
  assert.deepEqual(bin([0, 0.5, 1, null, NaN, 2], [0, 1], 2).map(one => one.value), [1, 2]);
  assert.deepEqual(bin([3, 3], [3, 3], 1).map(one => one.value), [2]);
});

test('the nearest point within reach', () => {
  const x = linearScale([0, 100], [0, 100]);
  const xs = [10, 50, null];
  const ys = [10, 50, 20];
  assert.equal(nearestPoint(xs, ys, x, x, [12, 12], { rows: [0, 1, 2] }), 0);
  assert.equal(nearestPoint(xs, ys, x, x, [80, 80], { rows: [0, 1, 2] }), -1);
});

test('a brush along x takes the full height', () => {
  const area = { x0: 0, x1: 100, y0: 0, y1: 50 };
  assert.deepEqual(boxOf({ x: 30, y: 5 }, { x: 10, y: 20 }, area, 'x'), { x0: 10, x1: 30, y0: 0, y1: 50 });
  assert.deepEqual(boxOf({ x: 30, y: 25 }, { x: 10, y: 20 }, area, 'xy'), { x0: 10, x1: 30, y0: 20, y1: 25 });
});

test('weight versions are steps of hue from the newest', () => {
  const steps = versionSteps(['9', '12', null, '', '10', '11', '8', '12']);
  assert.deepEqual([...steps], [['12', 0], ['11', 1], ['10', 2], ['9', 3], ['8', 3]]);
  assert.deepEqual(stepLegend(steps).map(({ versions }) => stepWords(versions)), ['v12', 'v11', 'v10', 'v9 and older']);
  assert.deepEqual([...versionSteps(['base', '3'])], [['3', 0], ['base', 1]]);
  assert.equal(stepWords(['base']), 'base');
});
