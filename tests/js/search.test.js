import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placesFor } from '../../templates/js/search/places.js';
import { wanted } from '../../templates/js/search/run.js';
import { parseSearch, searchColumns, searchWords } from '../../templates/js/search/terms.js';
import { conversationSources, excerpt, findWords, lowered, mayHold, textSources } from '../../templates/js/search/texts.js';

const COLUMNS = searchColumns(['reward.format']);

function parsed(text) {
  const { terms, words, error } = parseSearch(text, COLUMNS);
  return { terms: terms.map(one => `${one.negated ? '-' : ''}${one.column} ${one.op} ${one.value}`), words: words.map(one => (one.negated ? '-' : '') + one.needle), error };
}

test('terms of the filter grammar and words stand side by side', () => {
  const cases = [
    ['carry the one', [], ['carry', 'the', 'one']],
    ['"Carry the one" -wait', [], ['carry the one', '-wait']],
    ['reward<0.5 status:aborted truncated', ['reward < 0.5', 'status = aborted', 'truncated = true'], []],
    ['-truncated reward_value >= 1 therefore', ['-truncated = true', 'reward_value >= 1'], ['therefore']],
    ['text:"a b" -text:c', [], ['a b', '-c']],
    ['step = 3 -evaluation error:', ['step = 3', '-evaluation = true'], ['error:']],
    ['http://x.org/a?b "-" - reward', [], ['http://x.org/a?b', '-', '-', 'reward']],
    ['"reward.format" > 0', ['reward.format > 0'], []],
    ['status != completed', ['status != completed'], []],
    ['"say \\"hi\\""', [], ['say "hi"']],
    ['', [], []],
    ['!important a!', [], ['!important', 'a!']],
  ];
  for (const [text, terms, words] of cases) assert.deepEqual(parsed(text), { terms, words, error: null }, text);
});

test('a comparison with a column that is not there is an error, not a search', () => {
  assert.match(parsed('rewrd < 1').error, /“rewrd” is no column of this table; did you mean reward.*double quotes/);
  assert.match(parsed('truncated > 1').error, /no order/);
  assert.match(parsed('reward <').error, /A value is missing/);
});

test('how a search was understood is told in words', () => {
  assert.deepEqual(searchWords(parseSearch('-truncated reward < 1 "a b" -c', COLUMNS)), ['not truncated', 'reward < 1', '“a b”', 'without “c”']);
});

const MESSAGES = JSON.stringify([
  { role: 'system', content: 'You add.' },
  { role: 'user', content: [{ type: 'text', text: 'What is 17 + 25?' }, { type: 'image_url', image_url: 'x' }] },
  { role: 'assistant', content: '<think>carry the ONE</think>Let me use a tool.', tool_calls: [{ id: '1', function: { name: 'adder', arguments: '{"q": "17+25"}' } }] },
  { role: 'tool', content: '42', tool_call_id: '1' },
  { role: 'assistant', content: 'It is 42.' },
]);

test('a conversation is searched message by message, with turns', () => {
  const sources = conversationSources(MESSAGES);
  assert.deepEqual(sources.map(({ role, turn, message }) => [role, turn, message]), [['system', 0, 0], ['user', 0, 1], ['assistant', 1, 2], ['tool', 1, 3], ['assistant', 2, 4]]);
  const [found] = findWords(sources, [{ needle: 'carry the one', negated: false }]);
  assert.equal(found.source.message, 2);
  assert.deepEqual(found.pieces.filter(piece => piece.marked).map(piece => piece.text), ['carry the ONE']);
  assert.match(sources[2].text, /adder 17\+25/);
});

test('all words must be there and none of the negated ones, wherever they stand', () => {
  const sources = conversationSources(MESSAGES);
  const word = (needle, negated = false) => ({ needle, negated });
  assert.equal(findWords(sources, [word('carry'), word('nowhere')]), null);
  assert.equal(findWords(sources, [word('carry'), word('tool', true)]), null);
  assert.deepEqual(findWords(sources, [word('carry'), word('42')]).map(one => one.source.message), [2, 3, 4]);
  assert.deepEqual(findWords(sources, [word('nowhere', true)]), []);
});

test('prompt and response stand where the sample page shows them', () => {
  const sources = textSources(JSON.stringify('Add.'), '42', true);
  assert.deepEqual(sources.map(({ part, message, text }) => [part, message, text]), [['prompt', 0, 'Add.'], ['response', 1, '42']]);
  assert.deepEqual(textSources(MESSAGES, 'x', false).map(one => one.message), [-1, -1, -1, -1, -1, -1]);
  assert.deepEqual(textSources(null, null, true), []);
  assert.deepEqual(textSources('not json', null, true).map(one => one.text), ['not json']);
});

test('an excerpt is cut between words around the first match and marks every match', () => {
  const text = `${'word '.repeat(60)}<b>needle</b> and needle${' word'.repeat(60)}`;
  const pieces = excerpt(text, lowered(text), ['needle', 'need']);
  assert.deepEqual(pieces.filter(piece => piece.marked).map(piece => piece.text), ['needle', 'needle']);
  const whole = pieces.map(piece => piece.text).join('');
  assert.ok(whole.startsWith('…word') && whole.endsWith('word…') && whole.length < 230, whole);
  assert.ok(text.includes(whole.slice(1, -1)));
  assert.equal(lowered('İstanbul STRASSE').length, 'İstanbul STRASSE'.length);
});

test('a text without a plain word is not parsed; one that JSON may write otherwise is', () => {
  const word = needle => [{ needle, negated: false }];
  assert.equal(mayHold('{"a": "Hello"}', word('hello')), true);
  assert.equal(mayHold('{"a": "Hello"}', word('hullo')), false);
  assert.equal(mayHold('{"a": "caf\\u00e9"}', word('café')), true);
  assert.equal(mayHold('{"a": "\\"x"}', word('"x')), true);
  assert.equal(mayHold('{}', [{ needle: 'hello', negated: true }]), true);
});

test('steps that the search excludes are not read', () => {
  const meant = text => [[0, false], [3, false], [3, true]].filter(([step, evaluation]) => wanted(parseSearch(text, COLUMNS), { step, evaluation })).map(([step, evaluation]) => `${step}${evaluation ? 'e' : ''}`);
  assert.deepEqual(meant('step >= 3 x'), ['3', '3e']);
  assert.deepEqual(meant('-evaluation'), ['0', '3']);
  assert.deepEqual(meant('x'), ['0', '3', '3e']);
});

test('what is typed may name a page', () => {
  const pages = [{ label: 'Metrics', href: 'metrics.html' }];
  const steps = [{ step: 3, evaluation: false }, { step: 3, evaluation: true }];
  const labels = text => placesFor(text, pages, steps).map(place => place.label);
  assert.deepEqual(labels('step 3'), ['Step 3']);
  assert.deepEqual(labels('3'), ['Step 3', 'Eval of step 3']);
  assert.equal(labels('Met')[0], 'Metrics');
  assert.ok(placesFor('staleness', pages, steps).some(place => place.href === 'glossary.html#samples.staleness'));
  assert.deepEqual(labels(' '), []);
});
