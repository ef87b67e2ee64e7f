/**
 * Words in what a sample says: where they stand, and what stands around them.
 */

import { entriesOf } from '../sample/messages.js';

/** @typedef {import('./terms.js').Word} Word */

/**
 * @typedef {object} Source one text of a sample
 * @property {'prompt' | 'response' | 'conversation'} part
 * @property {string} role '' without one
 * @property {number} turn of an assistant or of the tool that answers it; 0 before the first
 * @property {number} message place among what the sample page shows; -1 where it does not show this text as such
 * @property {string} text
 *
 * @typedef {{text: string, marked: boolean}} Piece
 *
 * @typedef {object} Found
 * @property {Source} source
 * @property {Piece[]} pieces around the first match
 */

const AROUND = 90;
const MOST_PLACES = 3;

/** Words that a JSON text shows as they are, so that it need not be parsed to know that they are not in it. */
const PLAIN = /^[a-z0-9 _.,;:()+=*#%-]+$/;

/**
 * @param {string} recorded JSON
 * @param {Word[]} words
 * @returns {boolean} false: some word is surely not in it
 */
export function mayHold(recorded, words) {
  const plain = words.filter(word => !word.negated && PLAIN.test(word.needle));
  if (!plain.length) return true;
  const lower = recorded.toLowerCase();
  return plain.some(word => lower.includes(word.needle));
}

/**
 * @param {string | null} messages recorded JSON
 * @returns {Source[]}
 */
export function conversationSources(messages) {
  const list = parsed(messages);
  let turn = 0;
  return entriesOf(list).map((entry, message) => {
    if (entry.role === 'assistant') turn += 1;
    const text = entry.blocks.filter(block => block.kind !== 'image').map(block => [block.kind === 'call' ? block.name : '', block.text].filter(Boolean).join(' ')).join('\n');
    return { part: /** @type {const} */ ('conversation'), role: entry.role, turn, message, text };
  });
}

/**
 * @param {string | null} prompt recorded JSON: a string or messages
 * @param {string | null} response
 * @param {boolean} shown whether the sample page shows them, having no conversation
 * @returns {Source[]}
 */
export function textSources(prompt, response, shown) {
  const value = parsed(prompt);
  const entries = typeof value === 'string' ? [{ role: '', text: value }] : conversationSources(prompt).map(({ role, text }) => ({ role, text }));
  const asked = entries.map(({ role, text }, i) => ({ part: /** @type {const} */ ('prompt'), role, turn: 0, message: shown ? i : -1, text }));
  if (!response) return asked;
  return [...asked, { part: 'response', role: '', turn: 0, message: shown ? asked.length : -1, text: response }];
}

/**
 * @param {string | null} recorded
 * @returns {any} what the JSON says; text that is none as it is
 */
function parsed(recorded) {
  if (recorded === null || recorded === undefined) return null;
  try {
    return JSON.parse(recorded);
  } catch {
    return recorded;
  }
}

/**
 * @param {Source[]} sources
 * @param {Word[]} words at least one
 * @returns {Found[] | null} the places worth showing; null where a word is missing, or a negated one is there
 */
export function findWords(sources, words) {
  const lowers = sources.map(source => lowered(source.text));
  const holds = (/** @type {Word} */ { needle }) => lowers.some(lower => lower.includes(needle));
  if (!words.every(word => holds(word) !== word.negated)) return null;
  const needles = words.filter(word => !word.negated).map(word => word.needle);
  const ranked = lowers.map((lower, i) => ({ i, hits: needles.filter(needle => lower.includes(needle)).length })).filter(({ hits }) => hits > 0);
  ranked.sort((a, b) => b.hits - a.hits || a.i - b.i);
  return ranked.slice(0, MOST_PLACES).map(({ i }) => ({ source: sources[i], pieces: excerpt(sources[i].text, lowers[i], needles) }));
}

/**
 * @param {string} text
 * @returns {string} in lower case, of the same length
 */
export function lowered(text) {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from(text, char => (char.toLowerCase().length === char.length ? char.toLowerCase() : char)).join('');
}

/**
 * What stands around the first match, with all matches in it marked.
 *
 * @param {string} text
 * @param {string} lower
 * @param {string[]} needles
 * @returns {Piece[]}
 */
export function excerpt(text, lower, needles) {
  const first = Math.min(...needles.map(needle => lower.indexOf(needle)).filter(at => at >= 0));
  const longest = Math.max(...needles.filter(needle => lower.startsWith(needle, first)).map(needle => needle.length));
  const start = edge(text, first - AROUND, -1);
  const end = edge(text, first + longest + AROUND, 1);
  /** @type {Piece[]} */
  const pieces = [];
  let at = start;
  for (const [from, to] of matches(lower, needles, start, end)) {
    if (from > at) pieces.push({ text: text.slice(at, from), marked: false });
    pieces.push({ text: text.slice(from, to), marked: true });
    at = to;
  }
  if (at < end) pieces.push({ text: text.slice(at, end), marked: false });
  if (start > 0) pieces.unshift({ text: '…', marked: false });
  if (end < text.length) pieces.push({ text: '…', marked: false });
  return pieces;
}

/**
 * @param {string} text
 * @param {number} at
 * @param {-1 | 1} side
 * @returns {number} near there, between words if one ends within reach, and never inside a character
 */
function edge(text, at, side) {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  for (let i = 0; i < 16; i++) {
    const place = at - side * i;
    if (/\s/.test(text[place] ?? ' ')) return side < 0 ? place + 1 : place;
  }
  const low = text.charCodeAt(at);
  return low >= 0xdc00 && low <= 0xdfff ? at - 1 : at;
}

/**
 * @param {string} lower
 * @param {string[]} needles
 * @param {number} start
 * @param {number} end
 * @returns {[number, number][]} in order, without overlap
 */
function matches(lower, needles, start, end) {
  /** @type {[number, number][]} */
  const found = [];
  for (const needle of needles) {
    for (let at = lower.indexOf(needle, start); at >= 0 && at + needle.length <= end; at = lower.indexOf(needle, at + needle.length)) {
      found.push([at, at + needle.length]);
    }
  }
  found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return found.filter(([from], i) => i === 0 || from >= Math.max(...found.slice(0, i).map(one => one[1])));
}
