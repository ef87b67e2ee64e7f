import { el, fill } from '../dom.js';
import { NOT_FINITE, value as written } from '../format.js';
import { createBrush } from '../marks/brush.js';
import { carried } from './axes.js';
import { drawPlot } from './plot.js';

/**
 * @typedef {import('./series.js').Series} Series
 * @typedef {[text: string, unit: string, form: string]} Words
 * @typedef {{
 *   words: (key: string) => Words,
 *   xs: (series: Series) => (number | null)[],
 *   options: (series: Series) => {domain: [number, number], axis: 'step' | 'time', log: boolean, smoothing: number, word: string, faults: {span: [number, number], text: string}[]},
 *   full: (series: Series) => [number, number],
 *   isPinned: (series: Series) => boolean,
 *   onPin: (series: Series) => void,
 *   copyAs: (series: Series) => HTMLElement,
 *   onCursor: (part: number | null) => void,
 *   onZoom: (part: [number, number] | null) => void
 * }} Board part: share of the way along the whole x axis
 * @typedef {{node: HTMLElement, series: Series, draw: () => void, drop: () => void, cursor: (part: number | null) => void}} Cell
 */

const PLOT_HEIGHT = 118;
const TEXTS_SHOWN = 4;

/** Where a text series lists its newest changes instead of a line. @param {Series} series */
function textChanges({ texts, steps }) {
  const changes = [];
  for (let i = 0; i < texts.length; i++) {
    if (texts[i] !== null && (i === 0 || texts[i] !== texts[i - 1])) changes.push({ step: steps[i], text: texts[i] });
  }
  return changes.slice(-TEXTS_SHOWN).reverse();
}

/**
 * One metric: key, last value, a line of words, and its chart, which is drawn when asked for.
 *
 * @param {Series} series
 * @param {Board} board
 * @returns {Cell}
 */
export function createCell(series, board) {
  const [text, unit, form] = board.words(series.key);
  const unitNode = el('small', null);
  const words = el('p', { class: 'metric-words caption clip' });
  const plotNode = el('div', { class: 'metric-plot-box' });
  const pin = el('button', { class: 'button plain metric-pin', type: 'button', onClick: () => board.onPin(series) });
  const node = el('article', { class: 'metric-card', 'aria-label': series.key, data: { key: series.key } },
    el('p', { class: 'metric-head' },
      keyNode(series.key),
      pin,
      board.copyAs(series),
      el('span', { class: 'metric-value' }, el('b', null, lastOf(series, form)), unitNode)),
    words,
    plotNode);
  /** @type {import('./plot.js').Plot | null} */
  let plot = null;
  /** @type {{dispose: () => void} | null} */
  let brush = null;
  showWords(words, [text, unit], '');

  const showPin = () => {
    const isPinned = board.isPinned(series);
    fill(pin, isPinned ? 'Unpin' : 'Pin');
    pin.setAttribute('aria-label', `${isPinned ? 'Unpin' : 'Pin'} ${series.key}`);
  };
  showPin();
  const drop = () => {
    brush?.dispose();
    brush = null;
    plot = null;
  };
  const draw = () => {
    drop();
    showPin();
    if (series.isText) {
      showWords(words, [text, unit], 'text');
      fill(plotNode, textChanges(series).map(change => el('p', { class: 'metric-text' },
        change.step === null ? null : el('span', { class: 'muted' }, `step ${change.step} `), change.text)));
      return;
    }
    if (series.values.every(value => value === null)) {
      showWords(words, [text, unit], notes(series, false, false));
      fill(plotNode, el('p', { class: 'metric-text muted' }, 'No finite value to draw.'));
      return;
    }
    const options = board.options(series);
    const width = Math.max(160, plotNode.clientWidth);
    const drawn = drawPlot({ series, xs: board.xs(series), form, unit }, { ...options, width, height: PLOT_HEIGHT });
    plot = drawn;
    fill(unitNode, unit && form !== 'frac' && form !== 'seconds' ? ` ${unit}` : '');
    showWords(words, [text, drawn.unit], notes(series, options.log, drawn.isLog));
    fill(plotNode, drawn.node);
    const full = board.full(series);
    const part = (/** @type {number} */ pixel) => carried(drawn.x.invert(pixel), full, [0, 1]);
    brush = createBrush(drawn.node, drawn.area, {
      along: 'x',
      onEnd: box => board.onZoom([part(box.x0), part(box.x1)]),
      onClear: () => board.onZoom(null),
    });
    const frame = () => drawn.node.getBoundingClientRect();
    drawn.node.onpointermove = event => {
      const pixel = event.clientX - frame().left;
      board.onCursor(pixel >= drawn.area.x0 - 4 && pixel <= drawn.area.x1 + 4 ? part(pixel) : null);
    };
    drawn.node.onpointerleave = () => board.onCursor(null);
  };
  return {
    node, series, draw, drop,
    cursor(at) {
      plot?.cursor(at === null ? null : carried(at, [0, 1], board.full(series)));
    },
  };
}

/**
 * A long key is cut in the middle: its end tells more.
 *
 * @param {string} key
 * @returns {HTMLElement}
 */
function keyNode(key) {
  const at = key.length > 24 ? key.length - 10 : key.length;
  return el('span', { class: 'metric-key mono', title: key },
    el('span', { class: 'metric-key-start' }, key.slice(0, at)), el('span', null, key.slice(at)));
}

/**
 * @param {Series} series
 * @param {string} form
 * @returns {string} the last value, never smoothed
 */
function lastOf(series, form) {
  if (series.lastText !== null) return series.lastText;
  return series.last === null ? NOT_FINITE : written(series.last, form);
}

/**
 * @param {HTMLElement} node
 * @param {[text: string, unit: string]} known
 * @param {string} note
 */
function showWords(node, [text, unit], note) {
  const line = [text || 'logged as recorded', unit, note].filter(Boolean).join(', ');
  fill(node, line);
  node.title = line;
}

/**
 * @param {Series} series
 * @param {boolean} wantsLog
 * @param {boolean} isLog
 * @returns {string} what to know when reading the line
 */
function notes(series, wantsLog, isLog) {
  const found = [];
  if (wantsLog) found.push(isLog ? 'log' : 'linear: nothing above zero');
  if (series.isConstant) found.push('constant');
  if (series.gaps) found.push(`${series.gaps} not finite`);
  return found.join(', ');
}
