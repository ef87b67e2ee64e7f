/**
 * The words that choose lanes. `miles_report/tables/lane_grammar.py` reads the same ones, and
 * `tests/data/lane_cases.json` holds both to the same answers.
 *
 * @typedef {{index: number, node: string, gpu: number, ranks: number[], addrs: string[], roles: string[]}} Lane
 * @typedef {(lane: Lane) => boolean} Test
 */

/** One word that is no selector; the message says what is wrong with it. */
export class LaneError extends Error {}

const ROLES = ['train', 'rollout'];
const FORMS = 'g:5, g:0-31, rank:5, rank:0-7, node:<ip>, gpu:<node>:<i>, engine:<text>, role:train, role:rollout, every:8, all';
const NUMBER = /^[0-9]{1,9}$/;
const NUMBERS = /^([0-9]{1,9})(?:-([0-9]{1,9}))?$/;

/** @type {Record<string, (token: string, text: string) => Test>} */
const PARSERS = {
  g: (token, text) => within(token, 'g', text, (lane, [first, last]) => lane.index >= first && lane.index <= last),
  rank: (token, text) => within(token, 'rank', text, (lane, [first, last]) => lane.ranks.some(rank => rank >= first && rank <= last)),
  node: (_token, text) => lane => lane.node === text,
  gpu: (token, text) => {
    const colon = text.lastIndexOf(':');
    const [node, gpu] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)];
    if (!node || !NUMBER.test(gpu)) throw wrong(token, 'must be written gpu:<node>:<number>');
    return lane => lane.node === node && lane.gpu === Number(gpu);
  },
  engine: (_token, text) => lane => lane.addrs.some(addr => addr.includes(text)),
  role: (token, text) => {
    if (!ROLES.includes(text)) throw wrong(token, `names no role; there are ${ROLES.join(' and ')}`);
    return lane => lane.roles.includes(text);
  },
  every: (token, text) => {
    if (!NUMBER.test(text) || Number(text) < 1) throw wrong(token, 'needs a whole number from 1 on');
    return lane => lane.index % Number(text) === 0;
  },
};

/**
 * The words of a text, without empty ones.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function laneWords(text) {
  return text.split(',').map(word => word.trim()).filter(Boolean);
}

/**
 * Which word a lane is meant by.
 *
 * @param {string[]} words none means every lane
 * @returns {(lane: Lane) => number} place of the first word that means it; -1 for none
 * @throws {LaneError} names the word that is none of the forms
 */
export function parseLanes(words) {
  if (!words.length) return () => 0;
  const tests = words.map(parseWord);
  return lane => tests.findIndex(test => test(lane));
}

/**
 * @param {string} word
 * @returns {boolean} whether it is a selector
 */
export function isWord(word) {
  try {
    parseWord(word);
    return true;
  } catch (error) {
    if (error instanceof LaneError) return false;
    throw error;
  }
}

/**
 * @param {string} token
 * @returns {Test}
 */
function parseWord(token) {
  if (token === 'all') return () => true;
  const colon = token.indexOf(':');
  const kind = token.slice(0, Math.max(colon, 0));
  if (!Object.hasOwn(PARSERS, kind)) throw wrong(token, `is no lane selector; there are ${FORMS}`);
  const text = token.slice(colon + 1);
  if (!text) throw wrong(token, `needs something behind ${kind}:`);
  return PARSERS[kind](token, text);
}

/**
 * @param {string} token
 * @param {string} kind
 * @param {string} text
 * @param {(lane: Lane, range: [number, number]) => boolean} test
 * @returns {Test}
 */
function within(token, kind, text, test) {
  const match = NUMBERS.exec(text);
  if (!match) throw wrong(token, `needs a number or a range, as in ${kind}:5 or ${kind}:0-7`);
  const first = Number(match[1]);
  const last = Number(match[2] ?? match[1]);
  if (last < first) throw wrong(token, 'ends before it begins');
  return lane => test(lane, [first, last]);
}

/**
 * @param {string} token
 * @param {string} verdict
 * @returns {LaneError}
 */
function wrong(token, verdict) {
  return new LaneError(`“${token}” ${verdict}.`);
}
