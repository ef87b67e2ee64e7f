/**
 * Tokens that are no whole character: a tokenizer decodes each alone as U+FFFD. Where the recorded
 * text tells what a run of them spells, each is shown as its byte, else as its id.
 */

const REPLACEMENT = '\ufffd';
const LOOK_AHEAD = 64; // characters searched for the next token after one that the text leaves out

/**
 * @param {string|null} text
 * @returns {boolean} whether the token is part of a character
 */
export function isPartial(text) {
  return text !== null && text.includes(REPLACEMENT);
}

/**
 * @param {number} byte
 * @returns {string} as tokenizers write it
 */
export function byteLabel(byte) {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}

/**
 * Bytes of the partial tokens in [start, end), read from the recorded text.
 *
 * A run is told only where the token before it ends at a known place and the one after it is found
 * again, and where it has as many bytes as tokens.
 * @param {(index: number) => string|null} textOf decoded text of a token
 * @param {number} start
 * @param {number} end
 * @param {string|null} recorded what the tokens spell together
 * @returns {Map<number, {byte: number, character: string}>} by token index
 */
export function recoverBytes(textOf, start, end, recorded) {
  /** @type {Map<number, {byte: number, character: string}>} */
  const found = new Map();
  if (recorded === null) return found;
  let cursor = 0;
  let certain = true;
  let index = start;
  while (index < end) {
    const text = textOf(index);
    if (!isPartial(text)) {
      const at = text ? recorded.indexOf(text, cursor) : -1;
      if (text && at >= cursor && at - cursor <= LOOK_AHEAD) {
        certain = true;
        cursor = at + text.length;
      } else if (text === null) {
        certain = false;
      }
      index += 1;
      continue;
    }
    let stop = index + 1;
    while (stop < end && isPartial(textOf(stop))) stop += 1;
    const spelled = certain ? spell(recorded, cursor, stop - index) : null;
    if (spelled && fits(recorded, spelled.after, nextKnown(textOf, stop, end))) {
      spelled.bytes.forEach((one, offset) => found.set(index + offset, one));
      cursor = spelled.after;
    } else {
      certain = false;
    }
    index = stop;
  }
  return found;
}

/**
 * @param {string} recorded
 * @param {number} cursor
 * @param {number} count
 * @returns {{bytes: {byte: number, character: string}[], after: number}|null} whole characters
 *   beyond ASCII that take just so many bytes
 */
function spell(recorded, cursor, count) {
  const encoder = new TextEncoder();
  /** @type {{byte: number, character: string}[]} */
  const bytes = [];
  let after = cursor;
  while (bytes.length < count) {
    const code = recorded.codePointAt(after);
    if (code === undefined || code < 0x80) return null;
    const character = String.fromCodePoint(code);
    for (const byte of encoder.encode(character)) bytes.push({ byte, character });
    after += character.length;
  }
  return bytes.length === count ? { bytes, after } : null;
}

/**
 * Whether what follows a run agrees: the next token's text, or the end of a message where that
 * token is a word of the template.
 * @param {string} recorded
 * @param {number} after
 * @param {string} next
 * @returns {boolean}
 */
function fits(recorded, after, next) {
  if (after === recorded.length || recorded.startsWith(next, after)) return true;
  const found = recorded.indexOf(next, after);
  return recorded[after] === '\n' && (found < 0 || found - after > LOOK_AHEAD);
}

/**
 * @param {(index: number) => string|null} textOf
 * @param {number} from
 * @param {number} end
 * @returns {string} text of the next token that has one, '' at the end
 */
function nextKnown(textOf, from, end) {
  for (let index = from; index < end; index += 1) {
    const text = textOf(index);
    if (text) return text;
  }
  return '';
}
