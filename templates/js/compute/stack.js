/**
 * Rows below one another on one time axis: heads at the left, canvases, the newest value at the right; across them grid,
 * boundaries of steps, faults and the cursor. Only rows in view are painted.
 *
 * @typedef {import('./window.js').Span} Span
 *
 * @typedef {object} Item
 * @property {string} key
 * @property {string} title
 * @property {string} detail
 * @property {string} note
 * @property {number} height pixels
 * @property {boolean} [marked] the note is a warning
 * @property {boolean} [wraps] the detail may take several lines
 *
 * @typedef {object} Mark something across all rows
 * @property {number} from Unix seconds
 * @property {number} to the same for a moment
 * @property {string} text
 * @property {'step' | 'fault'} kind
 *
 * @typedef {object} Painter
 * @property {(key: string, pen: CanvasRenderingContext2D, width: number, height: number) => string} paint draws a row and
 *   answers what stands at its right
 */

import { el, fill } from '../dom.js';
import { sharpCanvas } from '../marks/points.js';
import { clockTicks, tickText } from './clock.js';

const TICK_PX = 110;
const LABEL_PX = 56;
const LETTER_PX = 6.5;
const LABEL_GAP = 12;

/** Marks beyond which they step back. */
const MANY = 8;

/**
 * @param {Painter} painter
 * @param {{label: string}} words
 */
export function createStack(painter, { label }) {
  const under = el('div', { class: 'compute-across', 'aria-hidden': 'true' });
  const over = el('div', { class: 'compute-across compute-over', 'aria-hidden': 'true' });
  const cursor = el('div', { class: 'compute-cursor', hidden: true });
  const chosen = el('div', { class: 'compute-chosen', hidden: true });
  const list = el('div', { class: 'compute-rows' });
  const axis = el('div', { class: 'compute-axis', 'aria-hidden': 'true' });
  const node = el('div', { class: 'compute-stack', tabindex: 0, role: 'group', 'aria-label': label }, under, list, over, axis);
  /** @type {Map<Element, {item: Item, canvas: HTMLCanvasElement, last: HTMLElement, stale: boolean, seen: boolean}>} */
  const rows = new Map();
  let width = 0;
  let frame = 0;

  const observer = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const row = rows.get(entry.target);
      if (row) row.seen = entry.isIntersecting;
    }
    ask();
  }, { rootMargin: '200px 0px' });
  const sizes = new ResizeObserver(() => {
    const now = plotWidth();
    if (now === width) return;
    stale();
  });
  sizes.observe(list);

  const plotWidth = () => list.querySelector('.compute-canvas')?.clientWidth ?? 0;
  const ask = () => { frame ||= requestAnimationFrame(paint); };
  const stale = () => {
    for (const row of rows.values()) row.stale = true;
    ask();
  };

  function paint() {
    frame = 0;
    width = plotWidth();
    if (!width) return;
    for (const row of rows.values()) {
      if (!row.seen || !row.stale) continue;
      row.stale = false;
      const pen = sharpCanvas(row.canvas, width, row.item.height);
      row.last.textContent = painter.paint(row.item.key, pen, width, row.item.height);
    }
  }

  return {
    node,
    frame: () => (list.querySelector('.compute-canvas') ?? list).getBoundingClientRect(),
    width: () => width || plotWidth(),
    /** @param {Item[]} items */
    setRows(items) {
      observer.disconnect();
      rows.clear();
      const made = items.map(item => {
        const canvas = el('canvas', { height: item.height });
        const last = el('div', { class: 'compute-last' });
        const row = el('div', { class: 'compute-row', data: { row: item.key } },
          el('div', { class: 'compute-head' },
            el('b', { class: 'clip' }, item.title),
            item.detail ? el('span', { class: item.wraps ? 'muted' : 'clip muted', title: item.detail }, item.detail) : null,
            item.note ? el('span', { class: item.marked ? 'clip compute-shared' : 'clip muted' }, item.note) : null),
          el('div', { class: 'compute-canvas', style: { height: `${item.height}px` } }, canvas), last);
        rows.set(row, { item, canvas, last, stale: true, seen: false });
        return row;
      });
      fill(list, made);
      made.forEach(row => observer.observe(row));
      ask();
    },
    /** Rows are painted anew. */
    stale,
    /**
     * @param {Span} span
     * @param {number} zero start of the run; 0 for the clock
     * @param {Mark[]} marks
     */
    setAxis(span, zero, marks) {
      const across = plotWidth() || 600;
      const place = (/** @type {number} */ time) => (time - span[0]) / (span[1] - span[0]);
      const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(4)}%`;
      const ticks = clockTicks(span, zero, Math.max(2, Math.floor(across / TICK_PX)));
      fill(axis, el('div', { class: 'compute-ticks' }, ticks.map(({ time, step }) => el('span', { style: { left: percent(place(time)) } }, tickText(time, zero, step)))));
      const visible = marks.filter(mark => mark.to >= span[0] && mark.from <= span[1]);
      const named = labelled(visible, mark => place(mark.from) * across, across);
      fill(under, ticks.map(({ time }) => el('div', { class: 'compute-grid', style: { left: percent(place(time)) } })));
      over.classList.toggle('many', visible.length > MANY);
      fill(over,
        visible.filter(mark => mark.kind === 'fault' || mark.from >= span[0]).map(mark => {
          const left = Math.max(0, place(mark.from));
          const right = Math.min(1, place(mark.to));
          const extent = right > left && mark.kind === 'fault' ? { left: percent(left), width: percent(right - left) } : { left: percent(left) };
          return el('div', { class: `compute-mark ${mark.kind}`, style: extent }, named.has(mark) ? el('span', null, mark.text) : null);
        }),
        chosen, cursor);
    },
    /** @param {number | null} share of the width */
    setCursor(share) {
      cursor.hidden = share === null;
      if (share !== null) cursor.style.left = `${share * 100}%`;
    },
    /**
     * @param {number} from shares of the width
     * @param {number} to
     */
    setChosen(from, to) {
      chosen.hidden = to <= from;
      chosen.style.left = `${from * 100}%`;
      chosen.style.width = `${(to - from) * 100}%`;
    },
    dispose() {
      cancelAnimationFrame(frame);
      observer.disconnect();
      sizes.disconnect();
    },
  };
}

/**
 * The marks whose words have room, faults before steps.
 *
 * @param {Mark[]} marks
 * @param {(mark: Mark) => number} xOf pixels
 * @param {number} width
 * @returns {Set<Mark>}
 */
function labelled(marks, xOf, width) {
  /** @type {Set<Mark>} */
  const named = new Set();
  /** @type {[number, number][]} */
  const taken = [];
  for (const mark of [...marks].sort((a, b) => Number(b.kind === 'fault') - Number(a.kind === 'fault') || a.from - b.from)) {
    const from = Math.max(0, xOf(mark));
    const to = from + mark.text.length * LETTER_PX + LABEL_GAP;
    if ((mark.kind === 'step' && xOf(mark) < 0) || from > width - LABEL_PX / 2) continue;
    if (taken.some(([left, right]) => from < right && to > left)) continue;
    taken.push([from, to]);
    named.add(mark);
  }
  return named;
}
