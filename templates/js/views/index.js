import { mountStepBars } from '../compute/stepbars.js';
import { on } from '../dom.js';
import { seconds } from '../format.js';

/** @typedef {import('../types').Context} Context */

/** Newer data than this mean that the run is probably still going on. */
const LIVE_S = 300;

/**
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  const figure = root.querySelector('figure[data-figure="index-steps"]');
  const offs = [
    showAge(root, context.page), filterSettings(root),
    mountStepBars(figure, context.page.bars, ([, from, to]) => { location.href = context.href(`compute.html?t=${from},${to}#lanes`); }),
  ];
  return () => offs.forEach(off => off());
}

/**
 * How old the newest record is: the build knows no clock, the browser does.
 *
 * @param {HTMLElement} root
 * @param {{t1: number | null, state: string}} page
 * @returns {() => void}
 */
function showAge(root, { t1, state }) {
  const node = root.querySelector('[data-age]');
  if (!node || t1 === null) return () => {};
  const show = () => { node.textContent = age(t1, Date.now() / 1000, state); };
  show();
  const timer = setInterval(show, 30_000);
  return () => clearInterval(timer);
}

/**
 * @param {number} t1 newest record, Unix seconds
 * @param {number} now
 * @param {string} state of the run
 * @returns {string}
 */
export function age(t1, now, state) {
  const passed = now - t1;
  if (passed < 0) return '';
  const ago = passed < 60 ? 'less than a minute ago' : `${seconds(Math.floor(passed / 60) * 60)} ago`.replace(/\u202f00\u202fs/, '');
  return state !== 'finished' && passed < LIVE_S ? `live, ${ago}` : ago;
}

/**
 * @param {HTMLElement} root
 * @returns {() => void}
 */
function filterSettings(root) {
  const input = /** @type {HTMLInputElement | null} */ (root.querySelector('[data-settings-filter]'));
  const none = /** @type {HTMLElement | null} */ (root.querySelector('[data-settings-none]'));
  if (!input || !none) return () => {};
  const rows = /** @type {HTMLElement[]} */ ([...root.querySelectorAll('.settings > div')]);
  return on(input, 'input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = (row.textContent ?? '').toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    none.hidden = shown > 0;
  });
}
