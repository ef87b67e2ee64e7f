/**
 * Any two columns of the samples against each other: brush, ghosts of what is filtered out, histogram at the side.
 */

import { el, fill, svg } from '../dom.js';
import { count, plural, value } from '../format.js';
import { xAxis, yAxis } from '../marks/axis.js';
import { createBrush } from '../marks/brush.js';
import { drawPoints, nearestPoint, sharpCanvas, token } from '../marks/points.js';
import { createTooltip, tooltipRows } from '../ui/tooltip.js';
import { cellText, columnTitle } from './columns.js';
import { summary } from './compare.js';
import { axisScale, decadeTicks, inRange, kindsOf, numbersOf, spreadOut } from './plot.js';
import { roundRange } from './state.js';

/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('./columns.js').StepColumn} StepColumn */

/**
 * @typedef {object} ScatterState
 * @property {StepColumn} x
 * @property {StepColumn} y
 * @property {StepColumn | null} colour
 * @property {[number, number] | null} xRange
 * @property {[number, number] | null} yRange
 * @property {Set<number>} filtered rows that pass the filter
 */

const HEIGHT = 250;
const LEFT = 56;
const SIDE = 96;
const TOP = 12;
const BOTTOM = 40;
const BINS = 24;
const NAMED = 3;
/** Above so many samples marks are paler, so that their density is seen. */
const MANY = 1500;

/**
 * @param {Frame} frame
 * @param {StepColumn[]} columns for the tooltip
 * @param {{onBrush: (x: [number, number] | null, y: [number, number] | null) => void, onOpen: (row: number) => void}} events
 * @returns {{node: HTMLElement, update: (state: ScatterState) => void, drawing: () => SVGSVGElement, dispose: () => void}}
 */
export function createScatter(frame, columns, { onBrush, onOpen }) {
  const canvas = el('canvas', { 'aria-hidden': 'true' });
  const axes = svg('svg', { class: 'marks step-axes', height: HEIGHT });
  const over = svg('svg', { class: 'marks step-over', height: HEIGHT, role: 'img' });
  const plot = el('div', { class: 'step-plot' }, axes, canvas, over);
  const legend = el('p', { class: 'caption step-legend' });
  const node = el('div', { class: 'step-scatter-live' }, plot, legend);
  const tooltip = createTooltip();
  /** @type {ScatterState | null} */
  let state = null;
  /** @type {{dispose: () => void} | null} */
  let brush = null;

  const draw = () => {
    const width = Math.max(240, plot.clientWidth);
    if (!state || !plot.isConnected) return;
    const { x: xColumn, y: yColumn, xRange, yRange, filtered } = state;
    const area = { x0: LEFT, x1: width - SIDE, y0: TOP, y1: HEIGHT - BOTTOM };
    const xs = numbersOf(frame, xColumn.name);
    const ys = numbersOf(frame, yColumn.name);
    const x = axisScale(xs, [area.x0, area.x1]);
    const y = axisScale(ys, [area.y1, area.y0]);
    const placedX = x.kind === 'linear' ? spreadOut(xs) : xs;
    const placedY = y.kind === 'linear' ? spreadOut(ys) : ys;
    const chosen = (/** @type {number} */ row) => filtered.has(row) && inRange(xs, xRange, row) && inRange(ys, yRange, row);
    const kinds = kindsOf(frame, state.colour, cell => (state?.colour ? cellText(state.colour, cell) : ''));
    const shown = [...filtered].filter(row => Number.isFinite(xs[row]) && Number.isFinite(ys[row]));

    const alpha = frame.length > MANY ? 0.5 : 0.85;
    const pen = sharpCanvas(canvas, width, HEIGHT);
    for (const kind of kinds) {
      const look = { shape: kind.shape, size: kind.size };
      const colour = token(node, kind.token);
      const rows = { ghost: kind.rows.filter(row => !filtered.has(row)), rest: kind.rows.filter(row => filtered.has(row) && !chosen(row)), chosen: kind.rows.filter(chosen) };
      drawPoints(pen, placedX, placedY, x, y, { ...look, colour, rows: rows.ghost, filled: kind.filled, alpha: alpha / 4 });
      drawPoints(pen, placedX, placedY, x, y, { ...look, colour, rows: rows.rest, filled: kind.filled, alpha });
      drawPoints(pen, placedX, placedY, x, y, { ...look, colour, rows: rows.chosen, filled: kind.filled || Boolean(xRange || yRange), size: kind.size + (xRange || yRange ? 0.5 : 0) });
    }

    for (const drawing of [axes, over]) drawing.setAttribute('width', String(width));
    const every = Array.from({ length: frame.length }, (_, row) => row);
    const mean = summary(frame.columns[yColumn.name], every).mean;
    fill(axes,
      yAxis(y, [area.x0, area.x1], y.kind === 'log' ? { ticks: decadeTicks(y.domain) } : { count: 4 }),
      xAxis(x, area.y1, x.kind === 'log' ? { ticks: decadeTicks(x.domain) } : { count: 7 }),
      svg('text', { x: area.x0, y: HEIGHT - 6 }, columnTitle(xColumn) + (x.kind === 'log' ? ' (log)' : '')),
      sideBars(ys, shown, y, area.x1 + 2));
    brush?.dispose();
    fill(over);
    over.setAttribute('aria-label', `${plural(shown.length, 'sample')}: ${yColumn.name} over ${xColumn.name}`);
    if (mean !== null && Number.isFinite(mean) && Number.isFinite(y(mean))) {
      over.append(
        svg('line', { class: 'step-mean', x1: area.x0, x2: area.x1, y1: y(mean), y2: y(mean) }),
        svg('text', { class: 'label halo', x: area.x1 + 4, y: y(mean) + 4 }, `mean ${value(mean, yColumn.form === 'logprob' ? 'logprob' : 'number')}`));
    }
    if (!shown.length) over.append(svg('text', { x: (area.x0 + area.x1) / 2, y: (area.y0 + area.y1) / 2, 'text-anchor': 'middle' }, 'No sample here has two finite numbers to place it by.'));
    over.append(...names(shown, ys, placedX, placedY, x, y, area.x1, row => String(frame.columns.sample_index?.[row] ?? row)));
    const ring = svg('circle', { class: 'ring step-ring', r: 5, visibility: 'hidden', 'pointer-events': 'none' });
    const made = createBrush(over, area, {
      onEnd: box => onBrush(roundRange(x.invert(box.x0), x.invert(box.x1)), roundRange(y.invert(box.y1), y.invert(box.y0))),
      onClear: () => onBrush(null, null),
      onClick: at => {
        const row = nearestPoint(placedX, placedY, x, y, [at.x, at.y], { rows: shown });
        if (row >= 0) onOpen(row);
      },
    });
    const clamp = (/** @type {number} */ pixel, /** @type {number} */ low, /** @type {number} */ high) => Math.min(high, Math.max(low, Number.isFinite(pixel) ? pixel : low));
    if (xRange || yRange) {
      made.show({
        x0: xRange ? clamp(x(xRange[0]), area.x0, area.x1) : area.x0,
        x1: xRange ? clamp(x(xRange[1]), area.x0, area.x1) : area.x1,
        y0: yRange ? clamp(y(yRange[1]), area.y0, area.y1) : area.y0,
        y1: yRange ? clamp(y(yRange[0]), area.y0, area.y1) : area.y1,
      });
    }
    over.append(ring);
    over.onpointermove = event => {
      const frameBox = over.getBoundingClientRect();
      const at = /** @type {[number, number]} */ ([event.clientX - frameBox.left, event.clientY - frameBox.top]);
      const row = event.buttons ? -1 : nearestPoint(placedX, placedY, x, y, at, { rows: shown, within: 10 });
      ring.setAttribute('visibility', row < 0 ? 'hidden' : 'visible');
      if (row < 0) return tooltip.hide();
      ring.setAttribute('cx', String(x(placedX[row])));
      ring.setAttribute('cy', String(y(placedY[row])));
      tooltip.show({ left: event.clientX, top: event.clientY }, el('div', { class: 'tooltip-head' }, `Sample ${frame.columns.sample_index?.[row] ?? `row ${row}`}`), tooltipRows(hovered(row)));
    };
    over.onpointerleave = () => {
      ring.setAttribute('visibility', 'hidden');
      tooltip.hide();
    };
    brush = made;
    drawLegend(kinds, frame.length - filtered.size, filtered.size - shown.length, filtered);
  };

  const hovered = (/** @type {number} */ row) => {
    const wanted = [state?.y, state?.x, state?.colour, ...columns.filter(column => ['status', 'reward_value'].includes(column.name))];
    const unique = [...new Set(wanted)].filter(column => column && frame.columns[column.name]);
    return unique.map(column => ({
      label: columnTitle(/** @type {StepColumn} */ (column)),
      value: cellText(/** @type {StepColumn} */ (column), frame.columns[/** @type {StepColumn} */ (column).name][row], frame, row),
    }));
  };
  const drawLegend = (/** @type {import('./plot.js').Kind[]} */ kinds, /** @type {number} */ ghosts, /** @type {number} */ unplaced, /** @type {Set<number>} */ filtered) => {
    fill(legend,
      state?.colour ? kinds.filter(kind => kind.rows.length).map(kind => el('span', { class: 'step-key' }, mark(kind), `${kind.label}${state?.colour?.type === 'boolean' ? ' ' : ' · '}${count(kind.rows.filter(row => filtered.has(row)).length)}`)) : null,
      ghosts ? el('span', { class: 'step-key' }, `faded: ${count(ghosts)} filtered out`) : null,
      unplaced ? el('span', { class: 'step-key' }, `${count(unplaced)} without both values`) : null);
  };
  const watcher = new ResizeObserver(() => requestAnimationFrame(draw));
  watcher.observe(plot);
  const redraw = () => draw();
  document.addEventListener('themechange', redraw);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', redraw);
  return {
    node,
    update(next) {
      state = next;
      draw();
    },
    drawing: () => over,
    dispose() {
      watcher.disconnect();
      document.removeEventListener('themechange', redraw);
      scheme.removeEventListener('change', redraw);
      brush?.dispose();
      tooltip.dispose();
    },
  };
}

/**
 * How many samples lie at each height, as bars at the right of the plot.
 *
 * @param {ArrayLike<number>} ys
 * @param {number[]} rows
 * @param {import('../types').Scale} y
 * @param {number} left pixel
 * @returns {SVGGElement}
 */
function sideBars(ys, rows, y, left) {
  const [bottom, top] = y.range;
  const step = (bottom - top) / BINS;
  const counts = new Array(BINS).fill(0);
  for (const row of rows) counts[Math.max(0, Math.min(BINS - 1, Math.floor((y(ys[row]) - top) / step)))] += 1;
  const most = Math.max(1, ...counts);
  return svg('g', { class: 'step-side' }, counts.map((n, i) => (n
    ? svg('rect', { x: left, y: top + i * step + 0.5, width: Math.max(1, (n / most) * (SIDE - 44)), height: step - 1 })
    : null)));
}

/**
 * Names beside the highest points, where they don't touch.
 *
 * @param {number[]} rows
 * @param {ArrayLike<number>} ys
 * @param {ArrayLike<number>} placedX
 * @param {ArrayLike<number>} placedY
 * @param {import('../types').Scale} x
 * @param {import('../types').Scale} y
 * @param {number} right pixel
 * @param {(row: number) => string} name
 * @returns {SVGTextElement[]}
 */
function names(rows, ys, placedX, placedY, x, y, right, name) {
  const top = [...rows].sort((a, b) => ys[b] - ys[a]).slice(0, NAMED);
  /** @type {[number, number][]} */
  const used = [];
  return top.flatMap(row => {
    const at = /** @type {[number, number]} */ ([x(placedX[row]), y(placedY[row])]);
    if (used.some(other => Math.abs(other[0] - at[0]) < 60 && Math.abs(other[1] - at[1]) < 14)) return [];
    used.push(at);
    const flip = at[0] > right - 60;
    return [svg('text', { class: 'label halo step-name', x: at[0] + (flip ? -8 : 8), y: at[1] + 4, 'text-anchor': flip ? 'end' : 'start' }, name(row))];
  });
}

/** @param {import('./plot.js').Kind} kind @returns {SVGSVGElement} its mark, for the legend */
function mark(kind) {
  const paint = kind.filled ? { fill: `var(${kind.token})` } : { fill: 'none', stroke: `var(${kind.token})`, 'stroke-width': '1.2' };
  return svg('svg', { width: 10, height: 10, 'aria-hidden': 'true' }, kind.shape === 'dot'
    ? svg('circle', { cx: 5, cy: 5, r: 3, style: paint })
    : svg('path', { d: 'M5,1L9,5L5,9L1,5Z', style: paint }));
}
