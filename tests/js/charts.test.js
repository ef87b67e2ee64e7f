import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageSpec, specCsv } from '../../templates/js/charts.js';
import { age } from '../../templates/js/views/index.js';

test('colours become custom properties, data stay as they are', () => {
  const spec = {
    width: 10, height: 10,
    usermeta: { tokens: { '#0072b2': '--c-blue' } },
    datasets: { d: [{ text: '#0072b2' }] },
    mark: { color: '#0072b2', stroke: '#123456' },
    config: { range: { category: ['#0072b2'] } },
  };
  const shown = pageSpec(spec, 'Inter', { width: 180, height: 48 });
  assert.deepEqual(shown.mark, { color: 'var(--c-blue)', stroke: '#123456' });
  assert.deepEqual(shown.config, { range: { category: ['var(--c-blue)'] }, font: 'Inter' });
  assert.equal(shown.datasets.d[0].text, '#0072b2');
  assert.deepEqual([shown.width, shown.height], [180, 48]);
  assert.equal(spec.mark.color, '#0072b2');
});

test('concatenated charts keep their own sizes', () => {
  const shown = pageSpec({ vconcat: [{ width: 5 }] }, 'x', { width: 180, height: 48 });
  assert.deepEqual(shown, { vconcat: [{ width: 5 }], config: { font: 'x' } });
});

test('a colour named like a property of objects is no colour', () => {
  const shown = pageSpec({ usermeta: { tokens: {} }, title: 'constructor' }, 'x', { width: 1, height: 1 });
  assert.equal(shown.title, 'constructor');
});

test('the rows of a chart as CSV', () => {
  const text = specCsv({ datasets: { a: [{ x: 1 }], b: [{ x: 1, y: null }, { x: 2, y: 'a,b' }] } });
  assert.equal(text, 'x,y\r\n1,\r\n2,"a,b"\r\n');
  assert.equal(specCsv({}), '\r\n');
});

test('a run is live while its data are fresh, unless it has ended', () => {
  assert.equal(age(1000, 1130, 'unknown'), 'live, 2\u202fm ago');
  assert.equal(age(1000, 1010, 'unknown'), 'live, less than a minute ago');
  assert.equal(age(1000, 1130, 'finished'), '2\u202fm ago');
  assert.equal(age(0, 7200, 'unknown'), '2\u202fh\u202f00\u202fm ago');
  assert.equal(age(1000, 900, 'unknown'), '');
});
