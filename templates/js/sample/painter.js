/** How one token looks: its colour for the chosen series, and what it is marked with. */

import { el } from '../dom.js';
import { paint } from './scale.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {import('./scale.js').Scale} Scale */
/** @typedef {import('./payload.js').Series} Series */

/**
 * @param {Tokens} tokens
 */
export function createPainter(tokens) {
  /** @type {Series|null} */
  let series = null;
  /** @type {Scale|null} */
  let scale = null;
  /** @type {number|null} */
  let selected = null;
  let found = new Uint8Array(tokens.length);

  /** @param {number} token */
  function classesOf(token) {
    let classes = 't';
    if (tokens.outside[token]) classes += ' out';
    if (found[token]) classes += ' found';
    if (token === selected) classes += ' selected';
    if (series && series.known[token] && !Number.isFinite(series.values[token])) classes += ' strange';
    return classes;
  }

  return {
    /**
     * @param {Series|null} next
     * @param {Scale|null} nextScale
     */
    colour(next, nextScale) {
      series = next;
      scale = nextScale;
    },
    /** @param {number|null} index */
    select(index) {
      selected = index;
    },
    /** @param {{start: number, end: number}[]} hits */
    mark(hits) {
      found = new Uint8Array(tokens.length);
      for (const hit of hits) found.fill(1, hit.start, hit.end);
    },
    /**
     * @param {number} token
     * @param {string} text the part of it that stands here
     * @returns {HTMLElement}
     */
    span(token, text) {
      const span = el('span', { class: classesOf(token), 'data-i': token }, text);
      if (series && scale && series.known[token]) {
        span.style.background = paint(scale.strength(series.values[token]), scale.diverging);
      }
      return span;
    },
  };
}
