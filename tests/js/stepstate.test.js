import assert from 'node:assert/strict';
import { test } from 'node:test';

import { moved } from '../../templates/js/step/rows.js';
import { placed } from '../../templates/js/step/chooser.js';
import { cellText, stepColumns, versionText } from '../../templates/js/step/columns.js';
import { lifecycles } from '../../templates/js/step/lifecycles.js';
import { axisScale, decadeTicks, inRange, kindsOf, numbersOf, spreadOut } from '../../templates/js/step/plot.js';
import { readState, roundRange, stateChanges } from '../../templates/js/step/state.js';
import { promptWords, spoken } from '../../templates/js/step/texts.js';

const DEFAULTS = { columns: ['row', 'reward'], sort: 'reward', axes: { x: 'length', y: 'reward', colour: 'mixed' } };
const NAMES = ['row', 'reward', 'length', 'mixed', 'reward.a,b'];

/** @param {Record<string, string>} values @returns {any} */
function url(values) {
  return { get: (/** @type {string} */ name, fallback = null) => values[name] ?? fallback };
}

test('a bare link is what the build chose', () => {
  const state = readState(url({}), DEFAULTS, NAMES);
  assert.deepEqual(state.columns, ['row', 'reward']);
  assert.deepEqual(state.sort, [{ column: 'reward', descending: true }]);
  assert.equal(state.x, 'length');
  assert.equal(state.xRange, null);
  assert.equal(state.tab, 'samples');
});

test('what is written to the link is read back', () => {
  /** @type {any} */
  const wanted = {
    tab: 'groups', filter: 'reward < 1', sort: [{ column: 'length', descending: false }, { column: 'reward.a,b', descending: true }],
    columns: ['reward.a,b', 'row'], x: 'reward', y: 'length', colour: '', xRange: [0.5, 2], yRange: null, pins: [3, 1],
    groupSort: [{ column: 'n', descending: true }], openGroups: ['4', 'null'],
  };
  const written = stateChanges(wanted, DEFAULTS);
  const values = Object.fromEntries(Object.entries(written).filter(([, text]) => text !== null));
  assert.deepEqual(readState(url(/** @type {any} */ (values)), DEFAULTS, NAMES), wanted);
});

test('defaults leave the link, unsorted stays in it', () => {
  const changes = stateChanges({ columns: ['row', 'reward'], sort: [{ column: 'reward', descending: true }], x: 'length', filter: '' }, DEFAULTS);
  assert.deepEqual(changes, { cols: null, sort: null, x: null, q: null });
  assert.equal(stateChanges({ sort: [] }, DEFAULTS).sort, '');
  assert.deepEqual(readState(url({ sort: '' }), DEFAULTS, NAMES).sort, []);
});

test('a link of another run keeps what is known here', () => {
  const state = readState(url({ cols: 'gone,row', sort: '-gone,+row', x: 'gone', colour: 'gone', bx: '2,1', by: 'a,b', pin: '1,x' }), DEFAULTS, NAMES);
  assert.deepEqual(state.columns, ['row']);
  assert.deepEqual(state.sort, [{ column: 'row', descending: false }]);
  assert.equal(state.x, 'length');
  assert.equal(state.colour, 'mixed');
  assert.deepEqual([state.xRange, state.yRange], [null, null]);
  assert.deepEqual(state.pins, [1]);
});

test('a brushed range gets few digits and only grows', () => {
  assert.deepEqual(roundRange(0.00612345, 1.64321), [0.00612, 1.65]);
  assert.deepEqual(roundRange(-12.345, 0), [-12.4, 0]);
});

test('columns take names, groups and types from the schema, own ones from their values', () => {
  const frame = {
    length: 2,
    names: ['step', 'row', 'truncated', 'adv_mean', 'weight_version', 'weight_version_min', 'reward.</script>', 'reward.note'],
    columns: {
      step: [1, 1], row: [0, 1], truncated: [null, true], adv_mean: [0.5, -0.25], weight_version: ['12', null], weight_version_min: [11, null],
      'reward.</script>': [null, null], 'reward.note': ['x', 'y'],
    },
  };
  const columns = stepColumns(frame);
  assert.deepEqual(columns.map(column => column.name), frame.names.slice(1));
  const types = Object.fromEntries(columns.map(column => [column.name, column.type]));
  assert.equal(types.truncated, 'boolean');
  assert.equal(types['reward.note'], 'text');
  assert.equal(columns.find(column => column.name === 'reward.</script>')?.recorded, false);
  const column = (/** @type {string} */ name) => /** @type {any} */ (columns.find(one => one.name === name));
  assert.equal(cellText(column('adv_mean'), 0.5), '+0.500');
  assert.equal(cellText(column('weight_version'), '12', frame, 0), 'v11–v12');
  assert.equal(cellText(column('truncated'), null), '–');
  assert.equal(versionText('main', null), 'main');
});

test('columns are chosen into their place and dragged', () => {
  /** @type {any} */
  const columns = ['a', 'b', 'c', 'd'].map(name => ({ name }));
  assert.deepEqual(placed(['d', 'a'], 'b', columns), ['d', 'a', 'b']);
  assert.deepEqual(placed(['c'], 'a', columns), ['a', 'c']);
  assert.deepEqual(moved(['a', 'b', 'c'], 'c', 'a'), ['c', 'a', 'b']);
  assert.deepEqual(moved(['a', 'b', 'c'], 'a', 'c'), ['b', 'c', 'a']);
  assert.deepEqual(moved(['a'], 'x', 'a'), ['a']);
});

test('numbers of a column: booleans are 0 and 1, what is none is NaN', () => {
  const frame = { length: 4, names: ['f'], columns: { f: [true, false, null, 'x'] } };
  assert.deepEqual([...numbersOf(frame, 'f')], [1, 0, NaN, NaN]);
  assert.equal(inRange([NaN], [0, 1], 0), false);
  assert.equal(inRange([NaN], null, 0), true);
});

test('a positive column over decades gets a log axis, one with zero does not', () => {
  assert.equal(axisScale([0.001, 1], [0, 100]).kind, 'log');
  assert.equal(axisScale([0, 1000], [0, 100]).kind, 'linear');
  assert.equal(axisScale([5, 7], [0, 100]).kind, 'linear');
  assert.equal(axisScale([], [0, 100]).kind, 'linear');
  assert.deepEqual(decadeTicks([0.0004, 0.2]), [0.001, 0.01, 0.1]);
  assert.deepEqual(decadeTicks([3, 60]), [5, 10, 20, 50]);
});

test('few whole numbers are spread the same way each time, others are not moved', () => {
  const whole = Float64Array.from({ length: 50 }, (_, i) => i % 3);
  const first = spreadOut(whole);
  assert.deepEqual(first, spreadOut(whole));
  assert.ok(first.every((value, i) => Math.abs(value - whole[i]) < 0.5));
  const real = Float64Array.from({ length: 50 }, (_, i) => i / 7);
  assert.equal(spreadOut(real), real);
});

test('every sample is of one kind', () => {
  const frame = { length: 5, names: ['b', 's', 'n'], columns: { b: [true, false, null, true, false], s: ['x', 'x', null, 'y', 'x'], n: [1, 2, NaN, null, 5] } };
  for (const [name, type] of [['b', 'boolean'], ['s', 'text'], ['n', 'number']]) {
    const kinds = kindsOf(frame, /** @type {any} */ ({ name, type, label: name }), String);
    assert.deepEqual(kinds.flatMap(kind => kind.rows).sort(), [0, 1, 2, 3, 4], name);
  }
  assert.equal(kindsOf(frame, null, String).length, 1);
});

test('text inside JSON is searched as words, not as escapes', () => {
  assert.equal(spoken('"a \\"b\\" \\u00e9"', true), 'a "b" é');
  assert.equal(spoken('[{"role":"user","content":[{"text":"deep"}]}]', true), 'user\ndeep');
  assert.equal(spoken('{broken', true), '{broken');
  assert.equal(promptWords('[{"role":"system","content":"s"},{"role":"user","content":"ask"},{"role":"tool","content":"t"}]'), 'ask');
  assert.equal(promptWords('"plain"'), 'plain');
  assert.equal(promptWords(null), '');
  assert.equal(promptWords('[]'), '');
});

test('spans become lifecycles: queued is what is neither generating nor a tool', () => {
  const spans = {
    length: 4,
    names: [],
    columns: {
      sample_index: [7, 7, 7, 3], kind: ['attempt', 'gen', 'tool', 'attempt'], t0: [10, 12, 15, 5], t1: [20, 15, 18, null],
      first_ts: [10, 10, 10, 5], last_ts: [20, 20, 20, 6], status: ['completed', 'completed', 'completed', null], weight_version: [null, '4', null, null],
    },
  };
  const [first, second] = lifecycles(spans);
  assert.equal(first.index, 3);
  assert.equal(first.end, 20);
  assert.equal(first.queued, 15);
  assert.deepEqual([second.queued, second.generating, second.tool], [4, 3, 3]);
  assert.deepEqual(second.versions, ['4']);
});
