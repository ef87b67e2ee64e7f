import assert from 'node:assert/strict';
import { test } from 'node:test';

import { afterTool } from '../../templates/js/sample/aftertool.js';
import { marksIn, strongTokens } from '../../templates/js/sample/bridge.js';
import { recoverBytes } from '../../templates/js/sample/bytes.js';
import { jumpsOf } from '../../templates/js/sample/jumps.js';
import { layOut, lineExtremes, lineOf } from '../../templates/js/sample/layout.js';
import { readPayload, readSeries } from '../../templates/js/sample/payload.js';
import { paint, scaleOf } from '../../templates/js/sample/scale.js';
import { segmentAt } from '../../templates/js/sample/segments.js';
import { createTokens, findText, firstDivergence, largest, nextBoundary } from '../../templates/js/sample/tokens.js';
import { payloadOf } from './samplepayload.js';

const PART = '\ufffd';

/** Eight tokens: two of the prompt, a turn, a tool's output, a turn. */
function agentic(lpDiff, extra = {}) {
  const payload = payloadOf(
    {
      token_id: [1, 2, 3, 4, 5, 6, 7, 8],
      loss_mask: [null, null, 1, 1, 0, 0, 1, 1],
      lp_diff: lpDiff ?? [null, null, 0.1, -0.2, null, null, 0.9, 0.3],
    },
    {},
    { token_texts: Object.fromEntries([...'abcdefgh'].map((text, index) => [index + 1, text])), ...extra },
  );
  return createTokens(readPayload(payload));
}

test('segments follow the mask and take names from the conversation', () => {
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'x' },
    { role: 'tool', name: 'bash', content: 'y' },
    { role: 'assistant', content: 'z' },
  ];
  const tokens = agentic(null, { conversation: { messages, prompt: 'q' } });
  assert.deepEqual(
    tokens.segments.map((one) => [one.kind, one.start, one.end, one.label, one.detail]),
    [['prompt', 0, 2, 'prompt', ''], ['turn', 2, 4, 'turn 1', ''], ['masked', 4, 6, 'tool', 'bash'], ['turn', 6, 8, 'turn 2', '']],
  );
  assert.equal(segmentAt(tokens.segments, 5), 2);
  assert.equal(tokens.trained, 4);
  assert.equal(tokens.segments[1].version, '7');
});

test('without a mask the response is one segment, without tokens there is none', () => {
  const plain = createTokens(readPayload(payloadOf({ loss_mask: [null, null, null, null] })));
  assert.deepEqual(plain.segments.map((one) => one.kind), ['prompt', 'response']);
  const none = createTokens(readPayload(payloadOf({ token_id: [], loss_mask: [] }, {}, { response_offset: 0 })));
  assert.deepEqual(none.segments, []);
});

test('a prompt of a chat template is cut at its roles', () => {
  const token_texts = { 1: '<|im_start|>', 2: 'user', 3: '\n', 4: 'hi', 5: 'system', 6: 'assistant', 7: 'go' };
  const token_id = [1, 5, 3, 4, 1, 2, 3, 4, 1, 6, 3, 7];
  const tokens = createTokens(readPayload(payloadOf({ token_id, loss_mask: [...new Array(11).fill(null), 1] }, {}, { response_offset: 11, token_texts })));
  assert.deepEqual(tokens.segments.map((one) => [one.label, one.start, one.end]), [['system', 0, 4], ['user', 4, 11], ['turn 1', 11, 12]]);
});

test('out of clip needs eps_clip, and uses the higher bound when there is one', () => {
  const payload = payloadOf({ lp_diff: [null, null, Math.log(1.25), Math.log(0.5)] });
  assert.equal(createTokens(readPayload(payload)).clip, null);
  payload.facts.args = { eps_clip: 0.2 };
  assert.deepEqual([...createTokens(readPayload(payload)).outside], [0, 0, 1, 1]);
  payload.facts.args = { eps_clip: 0.2, eps_clip_high: 0.28 };
  assert.deepEqual([...createTokens(readPayload(payload)).outside], [0, 0, 0, 1]);
});

test('largest: by magnitude, ties by position, NaN first', () => {
  assert.deepEqual(largest(readSeries('x', [1, null, -3, 3, 'NaN', 2]), 4), [4, 2, 3, 5]);
});

test('the first divergence states its threshold', () => {
  assert.deepEqual(firstDivergence(readSeries('lp_diff', [null, 0.4, -0.6, 2])), { index: 2, threshold: 0.5 });
  assert.deepEqual(firstDivergence(readSeries('lp_diff', [0.01, 0.03, 0.04])), { index: 1, threshold: readSeries('x', [0.04]).values[0] / 2 });
  assert.equal(firstDivergence(readSeries('lp_diff', [0, 0])), null);
  assert.equal(firstDivergence(undefined), null);
});

test('jumps go where they say and tell why they cannot', () => {
  const tokens = agentic();
  const jumps = Object.fromEntries(jumpsOf(tokens).map((jump) => [jump.key, jump]));
  assert.equal(jumps.d.find(-1), 6);
  assert.equal(jumps.d.find(6), 7);
  assert.equal(jumps.r.find(-1), 6);
  assert.equal(jumps.s.find(-1), 6);
  assert.equal(jumps.b.find(2), 4);
  assert.equal(jumps.m.find(-1), 4);
  assert.equal(jumps.e.absent, true);
  assert.equal(jumps.c.absent, true);
  assert.match(jumps.c.title, /eps_clip/);
  assert.equal(nextBoundary(tokens.segments, 7), 0);
});

test('text is found over token borders, whatever its case', () => {
  const tokens = agentic();
  assert.deepEqual(findText(tokens, 'CDE'), [{ start: 2, end: 5 }]);
  assert.deepEqual(findText(tokens, ''), []);
  assert.deepEqual(findText(tokens, 'zz'), []);
});

test('bytes are told where the recorded text spells them', () => {
  const texts = ['a', PART, PART, PART, 'b'];
  const found = recoverBytes((index) => texts[index], 0, 5, 'a天b');
  assert.deepEqual([...found].map(([index, one]) => [index, one.byte, one.character]), [[1, 0xe5, '天'], [2, 0xa4, '天'], [3, 0xa9, '天']]);
});

test('bytes stay unknown where the count or what follows disagrees', () => {
  const two = ['a', PART, PART, 'b'];
  assert.equal(recoverBytes((index) => two[index], 0, 4, 'a天b').size, 0);
  const three = ['a', PART, PART, PART, 'b'];
  assert.equal(recoverBytes((index) => three[index], 0, 5, 'a天天b').size, 0);
  assert.equal(recoverBytes((index) => three[index], 0, 5, null).size, 0);
});

test('special tokens that the text leaves out do not disturb', () => {
  const texts = ['<|s|>', 'a', PART, PART, '<|e|>'];
  assert.equal(recoverBytes((index) => texts[index], 0, 5, 'aé').size, 2);
});

test('tokens without text stand as ids, partial ones as bytes', () => {
  const payload = payloadOf({ token_id: [1, 2, 3, 9] }, {}, { token_texts: { 1: 'a', 2: '', 3: PART } });
  const tokens = createTokens(readPayload(payload));
  assert.deepEqual([0, 1, 2, 3].map(tokens.shown), ['a', '⟨2⟩', '⟨3⟩', '⟨9⟩']);
});

test('lines break between tokens, before spaces where they can, and at newlines', () => {
  const texts = ['aaa', ' bb', 'cc', ' ddd', 'e↵\n', '↵\n\u21b5\n', 'f'];
  const segments = [{ kind: 'turn', start: 0, end: 7, turn: 1, label: '', detail: '', version: '' }];
  const layout = layOut(segments, (index) => texts[index], 8, (text) => text.length);
  const lines = [];
  for (let line = 0; line < layout.lines; line += 1) {
    let text = '';
    for (let piece = layout.lineStart[line]; piece < layout.lineStart[line + 1]; piece += 1) {
      text += texts[layout.pieceToken[piece]].slice(layout.pieceFrom[piece], layout.pieceTo[piece]);
    }
    lines.push(text);
  }
  assert.deepEqual(lines, ['aaa bbcc', ' ddde↵', '↵', '↵', 'f']);
  assert.equal(lineOf(layout, 3), 1);
  assert.equal(lineOf(layout, 6), 4);
});

test('a word of several tokens moves to the next line whole', () => {
  const texts = ['aaaa', ' bb', 'bb', 'b'];
  const segments = [{ kind: 'turn', start: 0, end: 4, turn: 1, label: '', detail: '', version: '' }];
  const layout = layOut(segments, (index) => texts[index], 8, (text) => text.length);
  assert.deepEqual([...layout.lineStart], [0, 1, 4]);
});

test('a token wider than a line is cut, never inside a surrogate pair', () => {
  const text = '😀'.repeat(6);
  const segments = [{ kind: 'turn', start: 0, end: 1, turn: 1, label: '', detail: '', version: '' }];
  const layout = layOut(segments, () => text, 5, (part) => part.length);
  const parts = [...layout.pieceFrom].map((from, index) => text.slice(from, layout.pieceTo[index]));
  assert.equal(parts.join(''), text);
  assert.ok(parts.every((part) => part.isWellFormed()));
  assert.ok(layout.lines >= 3);
});

test('100,000 tokens are laid out without a DOM in reasonable lines', () => {
  const segments = [{ kind: 'turn', start: 0, end: 100_000, turn: 1, label: '', detail: '', version: '' }];
  const layout = layOut(segments, () => ' abcd', 80, (text) => text.length);
  assert.equal(layout.lines, 6250);
  assert.equal(lineOf(layout, 99_999), 6249);
});

test('each line knows its largest value with its sign', () => {
  const segments = [{ kind: 'turn', start: 0, end: 4, turn: 1, label: '', detail: '', version: '' }];
  const layout = layOut(segments, () => 'xx', 4, (text) => text.length);
  assert.deepEqual([...lineExtremes(layout, readSeries('lp_diff', [0.5, -2, null, 'NaN']))], [-2, NaN]);
});

test('full colour at ratios of 0.1 and 10, none near 1', () => {
  const scale = scaleOf(readSeries('imp_ratio', [1, 10, 0.05]), String);
  assert.equal(scale.strength(1.05), 0);
  assert.equal(Math.round(scale.strength(10) * 100), 100);
  assert.equal(scale.strength(0.01), -1);
  assert.equal(scale.strength(Infinity), 1);
  assert.ok(Number.isNaN(scale.strength(NaN)));
  assert.deepEqual([scale.low, scale.high, scale.fitted], ['0.1', '10', '']);
});

test('a sample that no usual scale would paint gets its own, and says so', () => {
  const scale = scaleOf(readSeries('lp_diff', [0.05, -0.02]), String);
  assert.equal(Math.round(scale.strength(0.05) * 100), 100);
  assert.notEqual(scale.fitted, '');
});

test('log probs and entropies share fixed ends', () => {
  assert.equal(scaleOf(readSeries('train_log_probs', [-1]), String).strength(-6), 1);
  assert.equal(scaleOf(readSeries('entropy', [1]), String).strength(3), 1);
  assert.equal(scaleOf(readSeries('entropy', [1]), String).strength(0), 0);
});

test('paint mixes towards the sign', () => {
  assert.equal(paint(0, true), '');
  assert.equal(paint(-0.5, true), 'color-mix(in oklab, var(--t-neg) 50%, var(--paper))');
  assert.equal(paint(1, true), 'color-mix(in oklab, var(--t-pos) 100%, var(--paper))');
  assert.equal(paint(1, false), 'color-mix(in oklab, var(--t-neg) 100%, var(--paper))');
});

test('what follows a tool result is summed over the page', () => {
  const found = afterTool(agentic([null, null, 0.25, 0.25, null, null, 1.25, 0.25]));
  assert.equal(found.results, 1);
  assert.equal(found.tokenShare, 0.5);
  assert.equal(found.differenceShare, 0.75);
  assert.deepEqual(found.means.slice(0, 3), [1.25, 0.25, 0]);
  assert.equal(afterTool(createTokens(readPayload(payloadOf({ lp_diff: [null, null, 1, 1] })))), null);
});

test('tokens with a ratio above 10 are found in the words of their turn', () => {
  const tokens = agentic([null, null, 0.1, 2.5, null, null, 0.9, 2.4]);
  assert.deepEqual(strongTokens(tokens), [3, 7]);
  assert.deepEqual(marksIn(tokens, 1, 'cd').map(({ from, to, position }) => [from, to, position]), [[1, 2, 3]]);
  assert.deepEqual(marksIn(tokens, 2, 'h').map((mark) => mark.position), [7]);
  assert.deepEqual(marksIn(tokens, 1, 'something else'), []);
  assert.deepEqual(marksIn(tokens, 3, 'cd'), []);
});
