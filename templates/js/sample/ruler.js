/** Widths of token text in cells of the mono font, measured once a text. */

import { el } from '../dom.js';

const PLAIN = /^[\x20-\x7e]*$/;
const SAMPLE = '0'.repeat(64);

/**
 * @param {HTMLElement} scroller strip whose styles count
 */
export function createRuler(scroller) {
  const text = el('span', { class: 't ruler' }, SAMPLE);
  const box = el('div', { class: 'ruler-box', 'aria-hidden': 'true' }, text);
  const body = el('div', { class: 'segment-body ruler-body' });
  const block = el('div', { class: 'segment ruler-segment', 'aria-hidden': 'true' }, el('div', { class: 'gutter' }), body);
  scroller.append(box, block);
  const context = /** @type {CanvasRenderingContext2D} */ (
    document.createElement('canvas').getContext('2d')
  );
  /** @type {Map<string, number>} */
  const known = new Map();
  const ruler = {
    cell: text.getBoundingClientRect().width / SAMPLE.length || 8,
    bodyWidth: () => body.clientWidth,
    /** @param {string} part */
    cells(part) {
      if (PLAIN.test(part)) return part.length;
      let width = known.get(part);
      if (width === undefined) {
        width = context.measureText(part).width / ruler.cell;
        known.set(part, width);
      }
      return width;
    },
    /** Whether fonts came in since and lines have to be broken again. */
    stale() {
      const cell = text.getBoundingClientRect().width / SAMPLE.length || 8;
      if (Math.abs(cell - ruler.cell) < 0.01) return false;
      ruler.cell = cell;
      known.clear();
      return true;
    },
    dispose() {
      box.remove();
      block.remove();
    },
  };
  const style = getComputedStyle(text);
  context.font = `${style.fontSize} ${style.fontFamily}`;
  return ruler;
}
