import { svg } from '../dom.js';
import { tickFormat } from './scale.js';

/** @typedef {import('../types').Scale} Scale */

/**
 * Horizontal axis: base line, tick labels, ticks only on time axes. The first label carries the
 * word ("step 0"), the end of the domain is always labelled, and labels never touch.
 *
 * @param {Scale} x
 * @param {number} y pixel of the base line
 * @param {{word?: string, last?: number | null, count?: number, format?: (value: number) => string, ticks?: number[]}} [options]
 *   last: value that is always labelled
 * @returns {SVGGElement}
 */
export function xAxis(x, y, { word = '', last = null, count = 5, format, ticks } = {}) {
  const values = [...(ticks ?? x.ticks(count))];
  if (last !== null && !values.includes(last)) values.push(last);
  const write = format ?? tickFormat(ticks ?? x.ticks(count), x.kind);
  const texts = values.map(value => ({ value, at: x(value), text: write(value) }));
  if (word && texts.length) texts[0].text = `${word} ${texts[0].text}`;
  const shown = spread(texts, last);
  return svg('g', { class: 'axis x' },
    svg('line', { class: 'base', x1: x.range[0], x2: x.range[1], y1: y, y2: y }),
    x.kind === 'time' ? shown.map(({ at }) => svg('line', { class: 'tick', x1: at, x2: at, y1: y, y2: y + 4 })) : [],
    shown.map(({ at, text, anchor }) => svg('text', { x: at, y: y + 16, 'text-anchor': anchor }, text)));
}

/**
 * The labels that fit beside each other: the first, the one asked for, and what has room.
 *
 * @param {{value: number, at: number, text: string}[]} texts from left to right
 * @param {number | null} keep value that stays
 * @returns {{at: number, text: string, anchor: string}[]}
 */
export function spread(texts, keep) {
  /** @type {{at: number, text: string, anchor: string, from: number, to: number}[]} */
  const shown = [];
  const order = [...texts].sort((a, b) => rank(a, texts, keep) - rank(b, texts, keep));
  for (const { at, text } of order) {
    const half = text.length * 3.4 + 4;
    if (shown.every(other => at + half <= other.from || at - half >= other.to)) {
      shown.push({ at, text, anchor: 'middle', from: at - half, to: at + half });
    }
  }
  return shown.sort((a, b) => a.at - b.at).map(({ at, text, anchor }) => ({ at, text, anchor }));
}

/**
 * @param {{value: number}} text
 * @param {{value: number}[]} all
 * @param {number | null} keep
 * @returns {number}
 */
function rank(text, all, keep) {
  if (text.value === keep) return 0;
  return text === all[0] ? 1 : 2 + all.indexOf(text);
}

/**
 * Vertical axis: grid lines and labels at their left, no line of its own.
 *
 * @param {Scale} y
 * @param {[number, number]} across pixels from the left to the right end of the grid
 * @param {{count?: number, format?: (value: number) => string, ticks?: number[]}} [options]
 * @returns {SVGGElement}
 */
export function yAxis(y, across, { count = 4, format, ticks } = {}) {
  const values = ticks ?? y.ticks(count);
  const write = format ?? tickFormat(values, y.kind);
  return svg('g', { class: 'axis y' },
    values.map(value => svg('line', { class: 'grid', x1: across[0], x2: across[1], y1: y(value), y2: y(value) })),
    values.map(value => svg('text', { x: across[0] - 6, y: y(value) + 4, 'text-anchor': 'end' }, write(value))));
}
