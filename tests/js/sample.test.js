import assert from 'node:assert/strict';
import { test } from 'node:test';

import { envelope } from '../../templates/js/sample/envelope.js';
import { inert, oneLine, visible } from '../../templates/js/sample/glyphs.js';
import { factsOf, rewardFact } from '../../templates/js/sample/head.js';
import { lifeOf, timeTicks } from '../../templates/js/sample/lifecycle.js';
import { payloadText, readPayload, readSeries } from '../../templates/js/sample/payload.js';
import { createTokens } from '../../templates/js/sample/tokens.js';
import { payloadOf } from './samplepayload.js';

test('null and not finite stay apart', () => {
  const series = readSeries('lp_diff', [null, 0, 'NaN', 'Infinity', '-Infinity', -1.5]);
  assert.deepEqual([...series.known], [0, 1, 1, 1, 1, 1]);
  assert.deepEqual([...series.values], [0, 0, NaN, Infinity, -Infinity, -1.5]);
  assert.equal(series.count, 5);
});

test('a payload from slices and its JSON give the same sample', () => {
  const payload = payloadOf({ lp_diff: Float32Array.from([0, 0, NaN, 1]) });
  const data = readPayload(JSON.parse(payloadText(payload)));
  assert.deepEqual([...data.series.get('lp_diff').values], [0, 0, NaN, 1]);
  assert.deepEqual([...data.series.keys()], ['lp_diff', 'imp_ratio']);
});

test('texts named like numbers stay texts', () => {
  const data = readPayload(payloadOf({}, { status: 'NaN', reward_value: 'NaN' }));
  assert.equal(data.sample.status, 'NaN');
  assert.ok(Number.isNaN(data.sample.reward_value));
});

test('a series without a value is not there', () => {
  const data = readPayload(payloadOf({ entropy: [null, null, null, null] }));
  assert.equal(data.series.size, 0);
});

test('rewards with components that add up, and that do not', () => {
  assert.equal(rewardFact({ reward_value: 1, 'reward.format': 0.2, 'reward.correct': 0.8 }).value, '1 = format 0.200 + correct 0.800');
  assert.equal(rewardFact({ reward_value: 0.8, 'reward.format': 0.2, 'reward.correct': 0.8 }).value, '0.800 (format 0.200, correct 0.800)');
  assert.equal(rewardFact({ reward_value: 1, 'reward.why': 'x', 'reward.correct': 1 }).value, '1 (why x, correct 1)');
  assert.equal(rewardFact({ reward_value: null }).value, '–');
  assert.equal(rewardFact({ reward_value: NaN }).value, 'not finite');
});

test('the head line counts what is out of clip over trained tokens', () => {
  const payload = payloadOf({ lp_diff: [null, null, 1, 0], loss_mask: [null, null, 1, 1] });
  payload.facts.args = { eps_clip: 0.2, eps_clip_high: 0.28 };
  const facts = factsOf(createTokens(readPayload(payload)));
  assert.equal(facts.find((fact) => fact.label === 'out of clip').value, '1 (50.0\u202f%)');
  assert.equal(facts.find((fact) => fact.label === 'tokens').value, '2 prompt + 2 response, 2 trained');
});

test('invisible and reordering characters are named', () => {
  assert.equal(visible('a\u202eb\u200b\u0000\t\r\n'), 'a⟨U+202E⟩b⟨U+200B⟩␀⇥␍↵\n');
  assert.equal(visible('\u2028'), '⟨U+2028⟩');
  assert.equal(inert('a\tb\n\u2029'), 'a\tb\n⟨U+2029⟩');
  assert.equal(oneLine('  x \n'), '··x ↵');
  assert.equal(oneLine('x'.repeat(40), 5), 'xxxx…');
});

test('spikes survive the level of detail', () => {
  const column = new Array(10_000).fill(0.01);
  column[5003] = -9;
  column[5004] = 7;
  column[9999] = 'NaN';
  const { low, high, strange } = envelope(readSeries('lp_diff', column), 100);
  assert.equal(low[50], -9);
  assert.equal(high[50], 7);
  assert.equal(strange[99], 1);
  assert.equal(strange[50], 0);
});

test('the gaps of an attempt are spent in the queue', () => {
  const span = (kind, t0, t1, turn = -1) => ({ kind, t0, t1, turn, weight_version: '7', status: '' });
  const life = lifeOf([span('attempt', 0, 20), span('gen', 2, 10, 1), span('tool', 10, 12, 1), span('gen', 15, 20, 2)]);
  assert.deepEqual(
    life.strips.map((strip) => [strip.kind, strip.start, strip.end]),
    [['queued', 0, 2], ['gen', 2, 10], ['tool', 10, 12], ['queued', 12, 15], ['gen', 15, 20]],
  );
  assert.equal(lifeOf([]), null);
});

test('a span without an end goes on to the last time and says so', () => {
  const life = lifeOf([
    { kind: 'attempt', t0: 0, t1: null, turn: -1, weight_version: null, status: '' },
    { kind: 'gen', t0: 5, t1: null, turn: 1, weight_version: null, status: '' },
    { kind: 'tool', t0: 6, t1: 9, turn: 1, weight_version: null, status: '' },
  ]);
  assert.equal(life.end, 9);
  assert.deepEqual(life.strips.filter((strip) => strip.open).map((strip) => strip.kind), ['gen']);
});

test('time ticks are round and few', () => {
  assert.deepEqual(timeTicks(285, 5), [60, 120, 180, 240]);
  assert.deepEqual(timeTicks(0, 5), []);
});
