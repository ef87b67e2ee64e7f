/** The raw tab: what was recorded, as text, and every column of the sample. */

import { clear, el, fill } from '../dom.js';
import { DASH, count, value as shown } from '../format.js';
import { TABLES } from '../schema.js';
import { inert } from './glyphs.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */

/**
 * @param {HTMLElement} host
 * @param {Tokens} tokens
 * @returns {() => void} dispose
 */
export function mountRaw(host, tokens) {
  const { prompt, response } = tokens.data.recorded;
  const promptText = prompt === null || typeof prompt === 'string' ? prompt : JSON.stringify(prompt, null, 2);
  fill(
    host,
    el(
      'div',
      { class: 'raw-grid' },
      el(
        'div',
        { class: 'raw-texts' },
        textPart('Prompt', promptText),
        textPart('Response', response),
        idsPart(tokens),
      ),
      columnsPart(tokens.data.sample),
    ),
  );
  return () => clear(host);
}

/**
 * @param {string} title
 * @param {string|null} text
 * @returns {HTMLElement}
 */
function textPart(title, text) {
  const body = text === null || text === '' ? el('p', { class: 'muted' }, text === null ? 'not recorded' : 'empty') : el('pre', null, inert(text));
  return el('section', { class: 'side-part' }, el('h2', null, title), body);
}

/**
 * @param {Tokens} tokens
 * @returns {HTMLElement}
 */
function idsPart(tokens) {
  const { ids, offset } = tokens.data;
  const list = (/** @type {Int32Array} */ part) => (part.length ? Array.from(part).join(' ') : 'none');
  return el(
    'section',
    { class: 'side-part' },
    el('h2', null, 'Token ids'),
    el('p', { class: 'caption' }, `Prompt, ${count(offset)}`),
    el('pre', { class: 'ids' }, list(ids.subarray(0, offset))),
    el('p', { class: 'caption' }, `Response, ${count(ids.length - offset)}`),
    el('pre', { class: 'ids' }, list(ids.subarray(offset))),
  );
}

/**
 * @param {Record<string, any>} sample
 * @returns {HTMLElement}
 */
function columnsPart(sample) {
  const rows = Object.keys(sample).map((name) => {
    const column = TABLES.samples.columns.find((one) => one.name === name);
    const value = sample[name];
    const absent = value === null || value === undefined;
    return el(
      'tr',
      { title: column?.doc ?? 'A component of the reward.' },
      el('th', { scope: 'row', class: 'mono' }, name),
      el('td', { class: absent ? 'null' : null, title: absent ? column?.null || 'not recorded' : null }, absent ? DASH : shown(value, column?.form ?? 'number'), !absent && column?.unit && column.form !== 'seconds' ? el('small', null, ` ${column.unit}`) : null),
    );
  });
  return el('section', { class: 'side-part raw-columns' }, el('h2', null, 'All columns'), el('table', { class: 'data compact' }, el('tbody', null, rows)));
}
