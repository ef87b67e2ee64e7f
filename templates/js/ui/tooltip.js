import { el, fill } from '../dom.js';
import { place } from './place.js';

/**
 * @typedef {import('../dom.js').Child} Child
 * @typedef {{label: Child, value: Child, detail?: Child}} Row
 */

/**
 * A box with words beside what is pointed at. It takes no pointer events.
 *
 * @returns {{show: (anchor: {left: number, top: number, right?: number, bottom?: number}, ...content: (Child | Child[])[]) => void, hide: () => void, dispose: () => void, node: HTMLElement}}
 *   show: anchor in coordinates of the window, as of getBoundingClientRect or of a pointer
 */
export function createTooltip() {
  const node = el('div', { class: 'tooltip', role: 'tooltip', hidden: true });
  return {
    node,
    show({ left, top, right = left, bottom = top }, ...content) {
      if (!node.isConnected) document.body.append(node);
      fill(node, ...content);
      node.hidden = false;
      const size = { width: node.offsetWidth, height: node.offsetHeight };
      const frame = { width: document.documentElement.clientWidth, height: window.innerHeight };
      const at = place({ left, top, right, bottom }, size, frame, { gap: 10 });
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
 * Rows of label and value for a tooltip.
 *
 * @param {Row[]} rows
 * @returns {HTMLElement[]}
 */
export function tooltipRows(rows) {
  return rows.map(({ label, value, detail }) => el('div', { class: 'tooltip-row' },
    el('span', null, label), el('span', null, value, detail ? el('small', null, ' ', detail) : null)));
}
