/** Gutter and margin of the strip. */

import { el } from '../dom.js';
import { count, fixed, signed } from '../format.js';
import { versionName } from './head.js';

/** @typedef {import('./segments.js').Segment} Segment */

const LABELLED = 0.25; // share of the sample's largest value from which a bar carries its number

/**
 * @param {Segment} segment
 * @returns {HTMLElement}
 */
export function gutterOf(segment) {
  const positions = `${count(segment.start)}–${count(segment.end - 1)}`;
  return el(
    'div',
    { class: 'gutter' },
    el(
      'div',
      { class: 'gutter-words' },
      el('span', null, el('b', null, segment.label), segment.detail && ` ${segment.detail}`),
      el('span', null, ` ${secondLine(segment)}`),
      el('span', null, ` ${positions}`),
    ),
  );
}

/**
 * @param {Segment} segment
 * @returns {string}
 */
function secondLine(segment) {
  if (segment.kind === 'masked') return segment.label === 'masked' ? '' : 'masked';
  if (segment.kind === 'prompt') return segment.label === 'prompt' ? '' : 'prompt';
  return segment.version ? versionName(segment.version) : '';
}

/**
 * @param {number} value largest of the line, NaN for none
 * @param {number} biggest of the sample
 * @param {boolean} narrow
 * @returns {HTMLElement|null}
 */
export function marginBar(value, biggest, narrow) {
  if (Number.isNaN(value) || biggest === 0 || value === 0) return null;
  const share = Math.abs(value) / biggest;
  const label = !narrow && share >= LABELLED ? signed(value, (one) => fixed(one, digits(biggest))) : '';
  return el(
    'div',
    { class: `bar ${value > 0 ? 'above' : 'below'}${share < 0.5 ? ' faint' : ''}`, title: signed(value, (one) => fixed(one, 4)) },
    el('i', { style: { width: `calc(var(--bar) * ${share.toFixed(3)} + 1px)` } }),
    label && el('span', null, label),
  );
}

/**
 * @param {number} biggest
 * @returns {number} decimals that show three digits of it
 */
function digits(biggest) {
  return biggest >= 1 ? 2 : Math.min(4, 2 - Math.floor(Math.log10(biggest)));
}
