import assert from 'node:assert/strict';
import { test } from 'node:test';

import { compareSelection, summary } from '../../templates/js/step/compare.js';
import { joinList, splitList } from '../../templates/js/step/list.js';
import { clickSort, sortRows, sortToText, textToSort } from '../../templates/js/step/sort.js';

const FRAME = {
  length: 6,
  names: ['a', 'b', 'flag', 'version'],
  columns: {
    a: [2, null, 1, NaN, 2, 3],
    b: [1, 2, 3, 4, 0, 6],
    flag: [true, false, true, null, false, false],
    version: ['v9', 'v12', 'v10', null, 'v9', 'v1'],
  },
};
const ALL = [0, 1, 2, 3, 4, 5];

test('null is last and NaN before it, both ways', () => {
  assert.deepEqual(sortRows(ALL, FRAME, [{ column: 'a', descending: false }]), [2, 0, 4, 5, 3, 1]);
  assert.deepEqual(sortRows(ALL, FRAME, [{ column: 'a', descending: true }]), [5, 0, 4, 2, 3, 1]);
});

test('a second key breaks ties; words sort by their numbers; unknown columns are ignored', () => {
  const keys = [{ column: 'a', descending: true }, { column: 'b', descending: false }];
  assert.deepEqual(sortRows(ALL, FRAME, keys), [5, 4, 0, 2, 3, 1]);
  assert.deepEqual(sortRows(ALL, FRAME, [{ column: 'version', descending: false }]), [5, 0, 4, 2, 1, 3]);
  assert.deepEqual(sortRows([3, 1], FRAME, [{ column: 'gone', descending: true }]), [3, 1]);
});

test('clicks cycle a header; shift adds a key', () => {
  const click = (keys, column, add = false) => clickSort(keys, column, { add, descendingFirst: true });
  const once = click([], 'a');
  const twice = click(once, 'a');
  assert.deepEqual(once, [{ column: 'a', descending: true }]);
  assert.deepEqual(twice, [{ column: 'a', descending: false }]);
  assert.deepEqual(click(twice, 'a'), []);
  assert.deepEqual(click(once, 'b', true), [{ column: 'a', descending: true }, { column: 'b', descending: true }]);
  assert.deepEqual(click(once, 'b'), [{ column: 'b', descending: true }]);
});

test('sort and lists survive the link, commas and backslashes included', () => {
  const keys = [{ column: 'reward.a,b\\', descending: true }, { column: 'x', descending: false }];
  assert.deepEqual(textToSort(sortToText(keys)), keys);
  assert.deepEqual(splitList(joinList(['a,b', '\\', 'c'])), ['a,b', '\\', 'c']);
  assert.deepEqual(splitList(''), []);
  assert.deepEqual(textToSort('reward'), [{ column: 'reward', descending: false }]);
});

test('summary leaves nulls out and tells what is not finite', () => {
  assert.deepEqual(summary([1, null, 3], [0, 1, 2]), { count: 2, mean: 2, sd: Math.SQRT2 });
  assert.deepEqual(summary([1], [0]), { count: 1, mean: 1, sd: null });
  assert.deepEqual(summary([null], [0]), { count: 0, mean: null, sd: null });
  assert.ok(Number.isNaN(summary([1, Infinity], [0, 1]).mean));
  assert.ok(Number.isNaN(summary([NaN], [0]).mean));
});

test('a selection beside all, in standard deviations, largest first', () => {
  // b: mean 16/6, squares 66 - 6·(16/6)² = 23.33, sd 2.1602; flag: 2 of 5, sd √(0.3) = 0.5477
  const found = compareSelection(FRAME, ['flag', 'b', 'gone'], [0, 2]);
  assert.deepEqual(found.map((one) => one.name), ['flag', 'b']);
  assert.equal(found[0].selected, 1);
  assert.equal(found[0].all, 0.4);
  assert.equal(found[0].nAll, 5);
  assert.ok(Math.abs(found[0].sds - 0.6 / Math.sqrt(0.3)) < 1e-9);
  assert.ok(Math.abs(found[1].sds - (2 - 16 / 6) / Math.sqrt(70 / 3 / 5)) < 1e-9);
});

test('what has no distance comes last', () => {
  const frame = { length: 3, names: ['k', 'v'], columns: { k: [4, 4, 4], v: [0, 1, 2] } };
  assert.deepEqual(compareSelection(frame, ['k', 'v'], [0]).map(one => one.name), ['v', 'k']);
});

test('an empty selection and a constant column have no distance', () => {
  const frame = { length: 2, names: ['k'], columns: { k: [4, 4] } };
  assert.deepEqual(compareSelection(frame, ['k'], []), [
    { name: 'k', selected: null, all: 4, sds: null, nSelected: 0, nAll: 2 },
  ]);
  assert.equal(compareSelection(frame, ['k'], [0])[0].sds, null);
});
