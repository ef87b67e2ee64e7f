import assert from 'node:assert/strict';
import { test } from 'node:test';

import { needsText, parseFilter, quoteName } from '../../templates/js/step/filter.js';
import { matchingRows } from '../../templates/js/step/match.js';

const COLUMNS = [
  { name: 'reward', type: 'number' },
  { name: 'tool_calls', type: 'number' },
  { name: 'truncated', type: 'boolean' },
  { name: 'mixed_version', type: 'boolean' },
  { name: 'status', type: 'text' },
  { name: 'weight_version', type: 'text' },
  { name: 'reward.</script>', type: 'number' },
  { name: 'reward.a b"c', type: 'number' },
];

const FRAME = {
  length: 5,
  names: COLUMNS.map((column) => column.name),
  columns: {
    reward: [0, 1, null, NaN, -2.5],
    tool_calls: [0, 3, 2, 7, 1],
    truncated: [true, false, null, true, false],
    mixed_version: [false, true, true, false, null],
    status: ['completed', 'aborted', 'completed', 'truncated', ''],
    weight_version: ['9', '12', null, '11', 'x'],
    'reward.</script>': [1, 2, 3, 4, 5],
    'reward.a b"c': [5, 4, 3, 2, 1],
  },
};

const TEXTS = ['carry the one', 'nothing', 'CARRY THE ONE'.toLowerCase(), 'a "quoted" word', ''];

function rows(text) {
  const parsed = parseFilter(text, COLUMNS);
  assert.equal(parsed.error, null, parsed.error?.message);
  return matchingRows(parsed.terms, FRAME, TEXTS);
}

function error(text) {
  const parsed = parseFilter(text, COLUMNS);
  assert.ok(parsed.error, `no error in ${text}`);
  return parsed.error;
}

test('an empty filter keeps all rows', () => {
  assert.deepEqual(rows(''), [0, 1, 2, 3, 4]);
  assert.deepEqual(rows('   '), [0, 1, 2, 3, 4]);
});

test('each operator compares; null and NaN answer none of them', () => {
  assert.deepEqual(rows('reward < 0'), [4]);
  assert.deepEqual(rows('reward<=0'), [0, 4]);
  assert.deepEqual(rows('reward=1'), [1]);
  assert.deepEqual(rows('reward != 1'), [0, 3, 4]);
  assert.deepEqual(rows('reward >= 0'), [0, 1]);
  assert.deepEqual(rows('reward > -2.5'), [0, 1]);
});

test('null, nan and percentages are values', () => {
  assert.deepEqual(rows('reward = null'), [2]);
  assert.deepEqual(rows('reward != null'), [0, 1, 3, 4]);
  assert.deepEqual(rows('reward = nan'), [3]);
  assert.deepEqual(rows('reward > 50%'), [1]);
  assert.deepEqual(rows('reward > -inf'), [0, 1, 4]);
});

test('a bare boolean column, and a minus in front', () => {
  assert.deepEqual(rows('truncated'), [0, 3]);
  assert.deepEqual(rows('-truncated'), [1, 2, 4]);
  assert.deepEqual(rows('truncated = false'), [1, 4]);
});

test('terms side by side must all hold', () => {
  assert.deepEqual(rows('mixed_version tool_calls >= 2 -status:aborted'), [2]);
});

test('words: status, other columns of words, numbers in them', () => {
  assert.deepEqual(rows('status:completed'), [0, 2]);
  assert.deepEqual(rows('status != completed'), [1, 3, 4]);
  assert.deepEqual(rows('status = ""'), [4]);
  assert.deepEqual(rows('weight_version >= 11'), [1, 3]);
});

test('text looks into what was said, whatever the case', () => {
  assert.deepEqual(rows('text:"Carry the one"'), [0, 2]);
  assert.deepEqual(rows('-text:carry'), [1, 3, 4]);
  assert.deepEqual(rows('text:"a \\"quoted\\""'), [3]);
  assert.equal(needsText(parseFilter('text:x', COLUMNS).terms), true);
  assert.equal(needsText(parseFilter('reward > 0', COLUMNS).terms), false);
});

test('names with odd characters are quoted', () => {
  assert.equal(quoteName('reward'), 'reward');
  assert.equal(quoteName('text'), '"text"');
  assert.deepEqual(rows(`${quoteName('reward.</script>')} > 3`), [3, 4]);
  assert.deepEqual(rows(`-${quoteName('reward.a b"c')} > 3`), [2, 3, 4]);
});

test('errors name the token that makes no sense and where it stands', () => {
  const cases = [
    ['reward > 0 rewrad < 1', 'rewrad', 11],
    ['reward', 'reward', 0],
    ['status', 'status', 0],
    ['reward => 1', '=>', 7],
    ['reward ~ 1', '~', 7],
    ['reward > high', 'high', 9],
    ['truncated > true', 'true', 12],
    ['truncated = 3', '3', 12],
    ['status < b', 'b', 9],
    ['text:"open', '"open', 5],
    ['reward:1', 'reward:', 0],
    ['nope:1', 'nope:', 0],
    ['- reward > 0', '-', 0],
    ['reward > 0 -', '-', 11],
    ['> 3', '>', 0],
    ['reward < null', 'null', 9],
    ['text:', 'text:', 0],
    ['"" > 1', '""', 0],
    ['text:""', 'text:""', 0],
  ];
  for (const [text, token, start] of cases) {
    const found = error(text);
    assert.equal(found.token, token, text);
    assert.equal(found.start, start, text);
    assert.ok(found.message.includes(token), `${text}: ${found.message}`);
  }
});

test('a missing value says after what', () => {
  assert.match(error('reward >').message, /missing after “reward >”/);
});

test('a near name is proposed, a far one is not', () => {
  assert.match(error('tool_cals > 1').message, /did you mean tool_calls\?/);
  assert.match(error('versio > 1').message, /did you mean mixed_version\?/);
  assert.doesNotMatch(error('zebra > 1').message, /did you mean/);
});

test('marks cover what is painted, in order', () => {
  const { marks } = parseFilter('-truncated reward >= 0.5', COLUMNS);
  assert.deepEqual(marks.map((mark) => mark.kind), ['negation', 'column', 'column', 'operator', 'value']);
  assert.deepEqual(marks.map((mark) => [mark.start, mark.end]), [[0, 1], [1, 10], [11, 17], [18, 20], [21, 24]]);
  assert.equal(parseFilter('reward > x', COLUMNS).marks.at(-1)?.kind, 'error');
});

test('a word named like a property of objects is just unknown', () => {
  assert.equal(error('constructor > 1').token, 'constructor');
  assert.equal(error('__proto__').token, '__proto__');
});
