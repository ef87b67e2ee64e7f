import { el, svg } from '../dom.js';

/** @typedef {import('../types').Scale} Scale */

/**
 * Upright bars from a base to their values; absent values have no bar.
 *
 * @param {{from: number, to: number, value: number | null, class?: string, colour?: string, title?: string}[]} items
 *   from and to in the domain of x
 * @param {Scale} x
 * @param {Scale} y
 * @param {{base?: number, gap?: number}} [options] base: value where bars stand; gap: pixels of paper between them
 * @returns {SVGGElement}
 */
export function bars(items, x, y, { base = 0, gap = 1 } = {}) {
  const ground = y(base);
  return svg('g', { class: 'bars' }, items.map(item => {
    if (item.value === null || !Number.isFinite(item.value)) return null;
    const left = Math.min(x(item.from), x(item.to)) + gap / 2;
    const width = Math.max(0.5, Math.abs(x(item.to) - x(item.from)) - gap);
    const top = y(item.value);
    return svg('rect', {
      class: `bar ${item.class ?? ''}`.trim(), x: left, y: Math.min(top, ground), width, height: Math.abs(ground - top),
      style: item.colour ? { fill: item.colour } : null,
    }, item.title ? svg('title', null, item.title) : null);
  }));
}

/**
 * A small bar for a table cell, from the left, or from a middle line for values of two signs.
 *
 * @param {number | null} value
 * @param {number} largest size that fills the bar
 * @param {{diverging?: boolean, marked?: boolean}} [options]
 * @returns {HTMLSpanElement} a bar without its number
 */
export function cellBar(value, largest, { diverging = false, marked = false } = {}) {
  const part = value === null || !Number.isFinite(value) || !(largest > 0) ? 0 : Math.min(1, Math.abs(value) / largest);
  if (!diverging) {
    return el('span', { class: 'bar', 'aria-hidden': 'true' }, el('i', { class: marked ? 'marked' : null, style: { width: `${part * 100}%` } }));
  }
  const below = value !== null && value < 0;
  const style = { width: `${part * 50}%`, [below ? 'right' : 'left']: '50%' };
  return el('span', { class: 'bar diverging', 'aria-hidden': 'true' }, el('i', { class: below ? 'below' : 'above', style }));
}

/**
 * Equal bins over a domain.
 *
 * @param {ArrayLike<number | null>} values absent and not finite ones are left out
 * @param {[number, number]} domain
 * @param {number} count of bins, at least 1
 * @returns {{from: number, to: number, value: number}[]} value: how many; the last bin holds its upper end
 */
export function bin(values, [low, high], count) {
  const width = (high - low) / count || 1;
  const bins = Array.from({ length: count }, (_, i) => ({ from: low + i * width, to: low + (i + 1) * width, value: 0 }));
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === null || !Number.isFinite(value) || value < low || value > high) continue;
    bins[Math.min(count - 1, Math.floor((value - low) / width))].value += 1;
  }
  return bins;
}
