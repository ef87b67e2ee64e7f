/** Beside the strip: the tokens that differ most, what follows tool output, what is absent, the keys. */

import { el } from '../dom.js';
import { count, fixed, frac, number, plural, signed } from '../format.js';
import { SHOWN, WINDOW, afterTool } from './aftertool.js';
import { oneLine } from './glyphs.js';
import { absences, valueAt } from './series.js';
import { largest } from './tokens.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */

export const LISTED = 8;

/**
 * @param {Tokens} tokens
 * @param {(index: number) => void} go
 * @returns {{node: HTMLElement, select: (index: number|null) => void}}
 */
export function createPanel(tokens, go) {
  const list = largestList(tokens, go);
  const node = el('aside', { class: 'sample-side', 'aria-label': 'About the tokens' }, list, afterToolPart(tokens), notes(tokens), keys());
  return {
    node,
    select(index) {
      for (const row of node.querySelectorAll('tr[data-position]')) {
        row.classList.toggle('selected', row.getAttribute('data-position') === String(index));
      }
    },
  };
}

/**
 * @param {Tokens} tokens
 * @param {(index: number) => void} go
 * @returns {HTMLElement|null}
 */
function largestList(tokens, go) {
  const series = tokens.data.series.get('lp_diff');
  if (!series) return null;
  const ranked = largest(series, LISTED);
  const most = Math.abs(series.values[ranked[0]] ?? 0);
  const digits = most >= 0.1 || !Number.isFinite(most) ? 2 : 4;
  const rows = ranked.map((index) =>
    el(
      'tr',
      { data: { position: index } },
      el(
        'td',
        { class: 'num' },
        el('a', { href: `?pos=${index}`, onClick: (/** @type {Event} */ event) => jump(event, () => go(index)) }, count(index)),
      ),
      el('td', { class: 'mono clip' }, oneLine(tokens.shown(index), 16)),
      el('td', { class: 'num' }, signed(series.values[index], (one) => fixed(one, digits))),
      el('td', { class: 'num' }, number(valueAt(tokens.data, 'imp_ratio', index))),
    ),
  );
  return el(
    'section',
    { class: 'side-part' },
    el('h2', null, 'Largest |lp diff|'),
    el(
      'table',
      { class: 'data compact largest' },
      el('thead', null, el('tr', null, el('th', { class: 'num' }, 'Pos.'), el('th', null, 'Token'), el('th', { class: 'num' }, 'lp diff'), el('th', { class: 'num' }, 'Ratio'))),
      el('tbody', null, rows),
    ),
  );
}

/**
 * @param {Event} event
 * @param {() => void} work
 */
function jump(event, work) {
  event.preventDefault();
  work();
}

/**
 * @param {Tokens} tokens
 * @returns {HTMLElement|null}
 */
function afterToolPart(tokens) {
  const found = afterTool(tokens);
  if (!found) return null;
  const most = Math.max(...found.means, Number.MIN_VALUE);
  const results = found.results === 1 ? 'the one tool result' : `each of ${count(found.results)} tool results`;
  return el(
    'section',
    { class: 'side-part' },
    el('h2', null, 'After a tool result'),
    el(
      'p',
      { class: 'secondary muted' },
      `The ${WINDOW} tokens after ${results} are `,
      el('b', null, frac(found.tokenShare)),
      ' of the trained tokens and carry ',
      el('b', null, frac(found.differenceShare)),
      ' of |lp diff|.',
    ),
    el(
      'div',
      { class: 'after-bars', role: 'img', 'aria-label': `Mean |lp diff| of the 1st to ${SHOWN}th token after a result` },
      found.means.map((mean, index) =>
        el('i', {
          class: index < WINDOW ? 'near' : null,
          title: `token ${index + 1} after a result: mean |lp diff| ${number(mean)}`,
          style: { height: `${((100 * mean) / most).toFixed(1)}%` },
        }),
      ),
      el('span', { class: 'after-label' }, 'mean |lp diff|'),
    ),
    el('div', { class: 'after-axis' }, el('span', null, '1st'), el('span', null, `${WINDOW}th`), el('span', null, `${SHOWN}th token`)),
  );
}

/**
 * @param {Tokens} tokens
 * @returns {HTMLElement[]}
 */
function notes(tokens) {
  return absences(tokens.data).map((note) =>
    el('section', { class: 'side-part' }, el('h2', null, note.title), el('p', { class: 'secondary muted' }, note.text)),
  );
}

/**
 * @returns {HTMLElement}
 */
function keys() {
  const rows = [
    ['← →', 'token', '↑ ↓', 'line'],
    ['Enter', 'pin', 'y', 'copy link to token'],
    ['[ ]', 'in group', ', .', 'in step'],
  ];
  return el(
    'section',
    { class: 'side-part keys' },
    el('h2', null, 'Keys'),
    rows.map(([key, word, other, otherWord]) =>
      el('p', { class: 'secondary muted' }, el('kbd', null, key), ` ${word}\u2003`, el('kbd', null, other), ` ${otherWord}`),
    ),
  );
}

/**
 * @param {Tokens} tokens
 * @returns {string}
 */
export function outsideWords(tokens) {
  if (!tokens.clip) return '';
  return `${number(tokens.clip.low)}–${number(tokens.clip.high)}, ${plural(tokens.outsideCount, 'token')}`;
}
