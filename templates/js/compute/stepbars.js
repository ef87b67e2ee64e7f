/**
 * Bars of steps, as the build drew them, that lead to the time of their step.
 *
 * @typedef {[step: number, from: number, to: number]} Bar seconds since the start of the run
 */

import { on } from '../dom.js';
import { plotOf } from './overview.js';

/**
 * @param {Element | null} figure
 * @param {Bar[]} bars from left to right, all of the figure
 * @param {(bar: Bar) => void} onBar
 * @returns {() => void}
 */
export function mountStepBars(figure, bars, onBar) {
  if (!(figure instanceof HTMLElement) || !bars.length) return () => {};
  figure.classList.add('step-bars');
  return on(figure, 'click', event => {
    const plot = plotOf(figure);
    const bar = plot && barAt((event.clientX - plot.left) / plot.width, bars);
    if (plot && bar && event.clientY >= plot.top && event.clientY <= plot.top + plot.height) onBar(bar);
  });
}

/**
 * @param {number} share of the width of the plot
 * @param {Bar[]} bars of equal width
 * @returns {Bar | null}
 */
export function barAt(share, bars) {
  return share >= 0 && share < 1 ? bars[Math.floor(share * bars.length)] : null;
}
