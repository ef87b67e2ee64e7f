/**
 * The drawn picture of the whole run as a control: a frame over it is the window, a drag chooses another, and above it stands
 * how much of each step was waiting.
 *
 * @typedef {import('./window.js').Span} Span
 *
 * @typedef {object} StepSpan
 * @property {number} step
 * @property {number} from Unix seconds
 * @property {number} to
 * @property {number | null} wait share of the step in which training waited
 * @property {number | null} overlap share of the rollout in which some rank trained
 */

import { el, fill, on, svg } from '../dom.js';
import { frac, seconds } from '../format.js';
import { createBrush } from '../marks/brush.js';
import { tooltipRows } from '../ui/tooltip.js';

const STRIP_HEIGHT = 28;

/**
 * @param {HTMLElement} figure of the overview, as the build drew it
 * @param {{whole: Span, end: number, steps: StepSpan[], tooltip: ReturnType<typeof import('../ui/tooltip.js').createTooltip>, moment: (time: number) => string, onSpan: (span: Span) => void}} settings
 *   end: Unix seconds of the right edge of the picture
 * @returns {{show: (span: Span) => void, dispose: () => void}}
 */
export function mountOverview(figure, { whole, end, steps, tooltip, moment, onSpan }) {
  const over = el('div', { class: 'compute-brush' });
  const strip = el('div', { class: 'compute-strip' });
  figure.classList.add('compute-overview');
  figure.prepend(strip);
  figure.append(over);
  /** @type {Span} */
  let shown = whole;
  /** @type {ReturnType<typeof createBrush> | null} */
  let brush = null;
  let last = '';

  const size = end - whole[0] || 1;
  const put = () => {
    const plot = plotOf(figure);
    if (!plot || !plot.width) return;
    const frame = figure.getBoundingClientRect();
    const key = [plot.left - frame.left, plot.top - frame.top, plot.width, plot.height].map(Math.round).join(' ');
    if (key === last) return;
    last = key;
    brush?.dispose();
    const host = svg('svg', { width: plot.width, height: plot.height });
    over.style.cssText = `left:${plot.left - frame.left}px;top:${plot.top - frame.top}px;width:${plot.width}px;height:${plot.height}px`;
    fill(over, host);
    strip.style.marginLeft = `${plot.left - frame.left}px`;
    strip.style.width = `${plot.width}px`;
    const timeOf = (/** @type {number} */ x) => whole[0] + x / plot.width * size;
    brush = createBrush(host, { x0: 0, x1: plot.width, y0: 0, y1: plot.height }, {
      along: 'x',
      onEnd: box => onSpan([timeOf(box.x0), timeOf(box.x1)]),
      onClear: () => onSpan(whole),
      onClick: ({ x }) => {
        const half = (shown[1] - shown[0]) / 2;
        onSpan(half * 2 >= size * 0.99 ? [timeOf(x) - size / 20, timeOf(x) + size / 20] : [timeOf(x) - half, timeOf(x) + half]);
      },
    });
    frameIt(plot);
  };
  const frameIt = (/** @type {{width: number, height: number}} */ { width, height }) => {
    const at = (/** @type {number} */ time) => (time - whole[0]) / size * width;
    const isAll = shown[1] - shown[0] >= (whole[1] - whole[0]) * 0.9999;
    brush?.show(isAll ? null : { x0: at(shown[0]), x1: Math.max(at(shown[1]), at(shown[0]) + 2), y0: 0, y1: height });
  };
  const waits = steps.filter(step => step.wait !== null);
  if (waits.length) {
    strip.setAttribute('role', 'group');
    strip.setAttribute('aria-label', 'Train wait of each step');
    const top = Math.max(...waits.map(step => step.wait ?? 0), 0.01);
    fill(strip, el('span', { class: 'compute-strip-name muted' }, 'train wait'), waits.map(step => bar(step, top)));
  }

  /**
   * @param {StepSpan} step
   * @param {number} top
   * @returns {HTMLElement}
   */
  function bar(step, top) {
    const percent = (/** @type {number} */ time) => (time - whole[0]) / size * 100;
    const height = Math.max(1, (step.wait ?? 0) / top * STRIP_HEIGHT);
    const button = el('button', {
      type: 'button', data: { step: step.step }, 'aria-label': `Step ${step.step}: train wait ${frac(step.wait)}`,
      style: { left: `${percent(step.from)}%`, width: `${Math.max(0.1, percent(step.to) - percent(step.from))}%` },
      onClick: () => onSpan([step.from, step.to]),
    }, el('i', { style: { height: `${height}px` } }));
    const tell = () => tooltip.show(button.getBoundingClientRect(), el('b', null, `Step ${step.step}`), tooltipRows([
      { label: 'Train wait', value: frac(step.wait) },
      { label: 'Rollout beside training', value: step.overlap === null ? 'no rollout in it' : frac(step.overlap) },
      { label: 'From', value: moment(step.from), detail: `lasts ${seconds(step.to - step.from)}` },
    ]));
    on(button, 'pointerenter', tell);
    on(button, 'focus', tell);
    on(button, 'pointerleave', () => tooltip.hide());
    on(button, 'blur', () => tooltip.hide());
    return button;
  }

  const sizes = new ResizeObserver(put);
  sizes.observe(figure);
  put();
  return {
    show(span) {
      shown = span;
      for (const button of strip.querySelectorAll('button')) {
        const step = waits.find(one => String(one.step) === button.dataset.step);
        const isChosen = Boolean(step && Math.abs(step.from - span[0]) < 1 && Math.abs(step.to - span[1]) < 1);
        button.setAttribute('aria-pressed', String(isChosen));
      }
      const box = over.getBoundingClientRect();
      if (box.width) frameIt(box);
    },
    dispose() {
      sizes.disconnect();
      brush?.dispose();
      over.remove();
      strip.remove();
    },
  };
}

/**
 * @param {HTMLElement} figure
 * @returns {{left: number, top: number, width: number, height: number} | null} where the marks of the drawing stand: above
 *   its longest axis line
 */
export function plotOf(figure) {
  const drawing = figure.querySelector('.chart-plot svg');
  if (!drawing) return null;
  const lines = [...drawing.querySelectorAll('line[stroke="var(--axis)"]')].map(line => line.getBoundingClientRect());
  const base = lines.sort((a, b) => b.width - a.width)[0];
  if (!base?.width) return null;
  const { top } = drawing.getBoundingClientRect();
  return { left: base.left, top, width: base.width, height: base.top - top };
}
