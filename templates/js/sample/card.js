/** All series of one token: a box beside it, on narrow pages a sheet at the foot of the window. */

import { el, fill } from '../dom.js';
import { DASH, count, frac, number } from '../format.js';
import { place } from '../ui/place.js';
import { oneLine } from './glyphs.js';
import { seriesDoc, seriesFormat, seriesNames, valueAt, whyAbsent } from './series.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/**
 * @typedef {object} Card
 * @property {(index: number, anchor: HTMLElement|null, pinned: boolean) => void} show
 * @property {() => void} hide
 * @property {() => void} dispose
 */

const NARROW = '(max-width: 719px)';

/**
 * @param {Tokens} tokens
 * @param {() => void} unpin
 * @returns {Card}
 */
export function createCard(tokens, unpin) {
  const node = el('div', { class: 'tooltip token-card', role: 'tooltip', hidden: true });
  document.body.append(node);
  return {
    show(index, anchor, pinned) {
      fill(node, contentOf(tokens, index, pinned, unpin));
      node.hidden = false;
      const sheet = window.matchMedia(NARROW).matches;
      node.classList.toggle('sheet', sheet);
      node.classList.toggle('pinned', pinned);
      if (sheet || !anchor) {
        node.style.removeProperty('left');
        node.style.removeProperty('top');
        node.classList.toggle('sheet', true);
        return;
      }
      const size = { width: node.offsetWidth, height: node.offsetHeight };
      const frame = { width: document.documentElement.clientWidth, height: window.innerHeight };
      const at = place(anchor.getBoundingClientRect(), size, frame, { gap: 6 });
      node.style.left = `${at.left}px`;
      node.style.top = `${at.top}px`;
    },
    hide() {
      node.hidden = true;
    },
    dispose() {
      node.remove();
    },
  };
}

/**
 * @param {Tokens} tokens
 * @param {number} index
 * @param {boolean} pinned
 * @param {() => void} unpin
 * @returns {HTMLElement[]}
 */
function contentOf(tokens, index, pinned, unpin) {
  const note = tokens.note(index);
  return [
    el(
      'div',
      { class: 'token-card-head' },
      el('b', { class: 'mono' }, oneLine(tokens.shown(index), 24)),
      el('span', { class: 'muted' }, `position ${count(index)}, id ${tokens.data.ids[index]}`),
      pinned && el('button', { type: 'button', class: 'button plain', onClick: unpin }, 'Unpin'),
    ),
    ...(note ? [el('p', { class: 'muted' }, note)] : []),
    el('table', null, el('tbody', null, rowsOf(tokens, index))),
  ];
}

/**
 * @param {Tokens} tokens
 * @param {number} index
 * @returns {HTMLElement[]}
 */
function rowsOf(tokens, index) {
  return seriesNames(tokens.data).map((name) => {
    const value = valueAt(tokens.data, name, index);
    const detail = value === null ? whyAbsent(tokens, name, index) : detailOf(tokens, name, value);
    const strong = name === 'lp_diff' || name === 'imp_ratio';
    return el(
      'tr',
      { title: seriesDoc(name) },
      el('th', { scope: 'row' }, name),
      el('td', { class: `num${strong ? ' strong' : ''}` }, value === null ? DASH : seriesFormat(name)(value)),
      el('td', { class: 'num muted' }, detail),
    );
  });
}

/**
 * @param {Tokens} tokens
 * @param {string} name
 * @param {number} value
 * @returns {string}
 */
function detailOf(tokens, name, value) {
  if (name.endsWith('log_probs')) return Number.isNaN(value) ? '' : `p ${frac(Math.min(1, Math.exp(value)))}`;
  if (name.endsWith('entropy')) return 'nats';
  if (name !== 'imp_ratio' || !tokens.clip) return '';
  if (value > tokens.clip.high) return `clipped at ${number(tokens.clip.high)}`;
  return value < tokens.clip.low ? `clipped at ${number(tokens.clip.low)}` : '';
}
