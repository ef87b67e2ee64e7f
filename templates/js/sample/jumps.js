/** Places to go in a sample, each with a button and a key. */

import { number } from '../format.js';
import { firstDivergence, largest, nextBoundary, nextFlag } from './tokens.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/**
 * @typedef {object} Jump
 * @property {string} key
 * @property {string} label
 * @property {string} title what it goes to, or why it can't
 * @property {boolean} absent
 * @property {(from: number) => number|null} find the token to go to
 */

const RANKED = 8; // places that a repeated key goes through

/**
 * @param {Tokens} tokens
 * @returns {Jump[]}
 */
export function jumpsOf(tokens) {
  const { series, mask, offset } = tokens.data;
  const difference = series.get('lp_diff');
  const ratio = series.get('imp_ratio');
  const entropy = series.get('entropy') ?? series.get('ref_entropy');
  const divergence = firstDivergence(difference);
  const masked = mask.indexOf(0, offset);
  const missing = 'lp_diff was not recorded for this sample';
  return [
    ranked('d', 'Largest |lp diff|', difference && largest(difference, RANKED), missing),
    ranked('r', 'Largest ratio', ratio && largest(ratio, RANKED, (value) => value), missing),
    ranked('e', 'Largest entropy', entropy && largest(entropy, RANKED, (value) => value), 'No entropy was recorded'),
    single(
      's',
      'First divergence',
      divergence?.index ?? null,
      divergence ? `First token with |lp diff| above ${number(divergence.threshold)} nats` : missing,
    ),
    {
      key: 'c',
      label: 'Next out of clip',
      title: clipTitle(tokens),
      absent: tokens.outsideCount === 0,
      find: (from) => nextFlag(tokens.outside, from),
    },
    {
      key: 'b',
      label: 'Next boundary',
      title: 'Next start of a turn, of tool output or of a message of the prompt',
      absent: tokens.segments.length < 2,
      find: (from) => nextBoundary(tokens.segments, from),
    },
    single('m', 'First masked', masked < 0 ? null : masked, masked < 0 ? 'No token of the response is masked' : 'First token outside the loss'),
  ];
}

/**
 * @param {Tokens} tokens
 * @returns {string}
 */
function clipTitle(tokens) {
  if (!tokens.clip) return 'The arguments of the run do not name eps_clip';
  if (!tokens.data.series.has('imp_ratio')) return 'lp_diff was not recorded for this sample';
  return `Next ratio below ${number(tokens.clip.low)} or above ${number(tokens.clip.high)}`;
}

/**
 * @param {string} key
 * @param {string} label
 * @param {number[]|undefined} places largest first; a repeated key goes on to the next
 * @param {string} why
 * @returns {Jump}
 */
function ranked(key, label, places, why) {
  const found = places ?? [];
  return {
    key,
    label,
    title: found.length ? `${label}; again: the next largest` : why,
    absent: found.length === 0,
    find: (from) => found[(found.indexOf(from) + 1) % found.length] ?? null,
  };
}

/**
 * @param {string} key
 * @param {string} label
 * @param {number|null} place
 * @param {string} title
 * @returns {Jump}
 */
function single(key, label, place, title) {
  return { key, label, title, absent: place === null, find: () => place };
}
