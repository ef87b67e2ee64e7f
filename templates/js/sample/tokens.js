/** What is asked of a sample's tokens: extremes, clip bounds, first divergence, texts to show. */

import { byteLabel, isPartial, recoverBytes } from './bytes.js';
import { segmentsOf } from './segments.js';
import { visible } from './glyphs.js';

/** @typedef {import('./payload.js').SampleData} SampleData */
/** @typedef {import('./payload.js').Series} Series */
/** @typedef {import('./segments.js').Segment} Segment */
/**
 * @typedef {object} Tokens
 * @property {SampleData} data
 * @property {number} length
 * @property {Segment[]} segments
 * @property {{low: number, high: number}|null} clip
 * @property {Uint8Array} outside 1 where the ratio is out of clip
 * @property {number} outsideCount
 * @property {number} trained tokens that enter the loss
 * @property {(index: number) => string|null} text decoded text; null without tokenizer
 * @property {(index: number) => string} shown what the strip writes, newlines kept
 * @property {(index: number) => string} note what a byte token is part of, or ''
 */

/** Nats of |lp_diff| (a ratio outside 0.61 to 1.65) from which a token counts as diverged. */
export const DIVERGENCE_NATS = 0.5;

/**
 * @param {SampleData} data
 * @returns {Tokens}
 */
export function createTokens(data) {
  /** @param {number} index */
  const text = (index) => data.texts.get(data.ids[index]) ?? null;
  const { prompt, response } = data.recorded;
  const bytes = recoverBytes(text, data.offset, data.ids.length, response);
  recoverBytes(text, 0, data.offset, promptText(prompt)).forEach((one, index) => bytes.set(index, one));

  /** @param {number} index */
  function shown(index) {
    const plain = text(index);
    const byte = bytes.get(index);
    if (plain === null || plain === '') return `⟨${data.ids[index]}⟩`;
    if (!isPartial(plain)) return visible(plain);
    return byte ? byteLabel(byte.byte) : `⟨${data.ids[index]}⟩`;
  }

  /** @param {number} index */
  function note(index) {
    if (!isPartial(text(index))) return '';
    const byte = bytes.get(index);
    return byte ? `a byte of ${byte.character}` : 'bytes of a character, shown by id';
  }

  const clip = clipBounds(data.facts.args);
  const outside = outOfClip(data, clip);
  return {
    data,
    length: data.ids.length,
    segments: segmentsOf(data),
    clip,
    outside,
    outsideCount: outside.reduce((sum, one) => sum + one, 0),
    trained: data.mask.reduce((sum, one) => sum + (one === 1 ? 1 : 0), 0),
    text,
    shown,
    note,
  };
}

/**
 * @param {any} prompt text, or messages whose contents stand in the prompt between template words
 * @returns {string|null}
 */
function promptText(prompt) {
  if (!Array.isArray(prompt)) return typeof prompt === 'string' ? prompt : null;
  const contents = prompt.map((message) => message?.content);
  return contents.filter((content) => typeof content === 'string').join('\n');
}

/**
 * @param {Record<string, any>} args
 * @returns {{low: number, high: number}|null} null when the run's arguments lack eps_clip
 */
export function clipBounds(args) {
  const below = args.eps_clip;
  if (typeof below !== 'number') return null;
  const above = typeof args.eps_clip_high === 'number' ? args.eps_clip_high : below;
  return { low: 1 - below, high: 1 + above };
}

/**
 * @param {SampleData} data
 * @param {{low: number, high: number}|null} clip
 * @returns {Uint8Array}
 */
function outOfClip(data, clip) {
  const outside = new Uint8Array(data.ids.length);
  const ratio = data.series.get('imp_ratio');
  if (!clip || !ratio) return outside;
  for (let i = 0; i < outside.length; i += 1) {
    const value = ratio.values[i];
    if (ratio.known[i] && (value < clip.low || value > clip.high)) outside[i] = 1;
  }
  return outside;
}

/**
 * Indices of the known values, largest first; NaN before all, since it hides what it was.
 * @param {Series} series
 * @param {number} count
 * @param {(value: number) => number} [size]
 * @returns {number[]} ties by position
 */
export function largest(series, count, size = Math.abs) {
  /** @type {{index: number, size: number}[]} */
  const best = [];
  for (let index = 0; index < series.values.length; index += 1) {
    if (!series.known[index]) continue;
    const value = size(series.values[index]);
    const one = { index, size: Number.isNaN(value) ? Infinity : value };
    if (best.length === count && one.size <= best[count - 1].size) continue;
    let at = best.length;
    while (at > 0 && best[at - 1].size < one.size) at -= 1;
    best.splice(at, 0, one);
    if (best.length > count) best.pop();
  }
  return best.map((one) => one.index);
}

/**
 * The first token where trainer and engine part: beyond DIVERGENCE_NATS, or, when none goes so far,
 * beyond half the sample's largest |lp_diff|.
 * @param {Series|undefined} difference lp_diff
 * @returns {{index: number, threshold: number}|null} null when nothing differs
 */
export function firstDivergence(difference) {
  if (!difference) return null;
  let top = 0;
  for (let i = 0; i < difference.values.length; i += 1) {
    const size = Math.abs(difference.values[i]);
    if (difference.known[i] && Number.isFinite(size)) top = Math.max(top, size);
  }
  const threshold = top > DIVERGENCE_NATS ? DIVERGENCE_NATS : top / 2;
  for (let i = 0; i < difference.values.length; i += 1) {
    const size = Math.abs(difference.values[i]);
    if (difference.known[i] && (size > threshold || Number.isNaN(size))) {
      return { index: i, threshold };
    }
  }
  return null;
}

/**
 * @param {ArrayLike<number>} flags
 * @param {number} from
 * @returns {number|null} next index with a flag after `from`, from the start again at the end
 */
export function nextFlag(flags, from) {
  for (let step = 1; step <= flags.length; step += 1) {
    const index = (from + step + flags.length) % flags.length;
    if (flags[index]) return index;
  }
  return null;
}

/**
 * @param {Segment[]} segments
 * @param {number} from
 * @returns {number|null} start of the next segment, the first one behind the last
 */
export function nextBoundary(segments, from) {
  const next = segments.find((segment) => segment.start > from) ?? segments[0];
  return next ? next.start : null;
}

/**
 * Tokens that a text covers, found over token borders and without regard to case.
 * @param {Tokens} tokens
 * @param {string} query
 * @returns {{start: number, end: number}[]} at most 10,000
 */
export function findText(tokens, query) {
  const wanted = query.toLowerCase();
  if (wanted === '') return [];
  const starts = new Int32Array(tokens.length + 1);
  /** @type {string[]} */
  const parts = [];
  for (let i = 0; i < tokens.length; i += 1) {
    const text = tokens.text(i) ?? tokens.shown(i);
    const lower = text.toLowerCase();
    const same = lower.length === text.length ? lower : text;
    parts.push(same);
    starts[i + 1] = starts[i] + same.length;
  }
  const whole = parts.join('');
  const hits = [];
  let token = 0;
  for (let at = whole.indexOf(wanted); at >= 0 && hits.length < 10_000; ) {
    while (starts[token + 1] <= at) token += 1;
    let end = token;
    while (end < tokens.length && starts[end] < at + wanted.length) end += 1;
    hits.push({ start: token, end });
    at = whole.indexOf(wanted, at + wanted.length);
  }
  return hits;
}
