/**
 * One row on its canvas: the band of phases, and below it the readings of the GPU with the engine's metric over them.
 *
 * @typedef {import('./lanes.js').Row} Row
 * @typedef {import('./samples.js').Series} Series
 * @typedef {import('./spans.js').Phase} Phase
 * @typedef {import('./window.js').Span} Span
 *
 * @typedef {object} Ink
 * @property {(name: string) => {fill: string, label: string}} phase
 * @property {string} hatch
 * @property {string} area
 * @property {string} areaHigh
 * @property {string} overlay
 * @property {string} memory
 * @property {string} power
 * @property {string} base
 * @property {string} none
 * @property {string} font
 */

import { token } from '../marks/points.js';
import { PHASES } from '../schema.js';
import { envelope } from './samples.js';

/** Pixels of a row: band, gap, plot, gap. */
export const BAND = { top: 2, height: 14 };
export const PLOT = { top: 20, height: 28 };
export const ROW_HEIGHT = 54;

const HATCH_STEP = 6;
const LABEL_ROOM = 10;

/**
 * The colours of the page for a canvas.
 *
 * @param {Element} node
 * @returns {Ink}
 */
export function readInk(node) {
  /** @type {Map<string, {fill: string, label: string}>} */
  const known = new Map();
  return {
    phase(name) {
      const found = known.get(name);
      if (found) return found;
      const word = (Object.hasOwn(PHASES, name) ? name : 'unknown').replaceAll('_', '-');
      const made = { fill: token(node, `--p-${word}`), label: token(node, `--p-${word}-label`) };
      known.set(name, made);
      return made;
    },
    hatch: token(node, '--p-hatch'),
    area: token(node, '--l-queue'),
    areaHigh: token(node, '--line'),
    overlay: token(node, '--text'),
    memory: token(node, '--c-purple'),
    power: token(node, '--c-vermilion'),
    base: token(node, '--axis'),
    none: token(node, '--muted'),
    font: `11px ${token(node, '--font')}`,
  };
}

/**
 * @typedef {object} Scene
 * @property {Row} row
 * @property {Phase[]} phases in the order in which they are painted
 * @property {Series | null} gpu
 * @property {Map<string, Series>} engines series of the overlay by address
 * @property {import('./state.js').Reading[]} shown
 * @property {{mem_mb: number, power_w: number, overlay: number}} tops greatest values of the scales
 */

/**
 * @param {CanvasRenderingContext2D} pen cleared
 * @param {Scene} scene
 * @param {Span} span
 * @param {number} width pixels
 * @param {Ink} ink
 */
export function drawRow(pen, scene, span, width, ink) {
  const { row, gpu, shown, tops } = scene;
  drawBand(pen, scene.phases, span, width, ink);
  if (gpu) {
    if (shown.includes('util')) drawArea(pen, gpu, span, width, ink);
    if (shown.includes('mem_mb')) drawLine(pen, gpu, 'mem_mb', tops.mem_mb, span, width, { across: [0, width], colour: ink.memory, dashed: true });
    if (shown.includes('power_w')) drawLine(pen, gpu, 'power_w', tops.power_w, span, width, { across: [0, width], colour: ink.power });
  }
  if (!row.lane && !row.stays.length) return;
  pen.fillStyle = ink.base;
  pen.fillRect(0, PLOT.top + PLOT.height, width, 1);
  const x = (/** @type {number} */ time) => (time - span[0]) / (span[1] - span[0]) * width;
  row.stays.forEach((stay, i) => {
    const series = scene.engines.get(stay.addr);
    const from = Math.max(0, x(stay.from));
    const to = Math.min(width, x(Math.min(stay.to, span[1])));
    if (to <= 0 || from >= width) return;
    if (series) drawLine(pen, series, 'value', tops.overlay, span, width, { across: [from, to], colour: ink.overlay });
    if (i > 0 && from > 0) drawEdge(pen, from, ink);
  });
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {Phase[]} phases
 * @param {Span} span
 * @param {number} width
 * @param {Ink} ink
 */
function drawBand(pen, phases, [from, to], width, ink) {
  const scale = width / (to - from);
  /** @type {CanvasPattern | null} */
  let hatch = null;
  /** @type {{phase: Phase, left: number, right: number}[]} */
  const named = [];
  pen.font = ink.font;
  pen.textBaseline = 'middle';
  for (const phase of phases) {
    if (phase.to <= from || phase.from >= to) continue;
    const left = Math.max(0, (phase.from - from) * scale);
    const right = Math.min(width, (phase.to - from) * scale);
    const size = Math.max(right - left, 1);
    pen.fillStyle = ink.phase(phase.name).fill;
    pen.fillRect(left, BAND.top, size, BAND.height);
    if (phase.name === 'train_wait') {
      hatch ??= hatchPattern(pen, ink.hatch);
      if (hatch) {
        pen.fillStyle = hatch;
        pen.fillRect(left, BAND.top, size, BAND.height);
      }
    }
    for (const under of named) uncover(under, left, right);
    if (size > 2 * LABEL_ROOM) named.push({ phase, left, right });
  }
  for (const { phase, left, right } of named) {
    const text = `${labelOf(phase.name)}${phase.open ? ' (not ended)' : ''}`;
    if (pen.measureText(text).width > right - left - LABEL_ROOM) continue;
    const { fill, label } = ink.phase(phase.name);
    if (phase.name === 'train_wait') {
      pen.fillStyle = fill;
      pen.fillRect(left + 2, BAND.top + 1, pen.measureText(text).width + 5, BAND.height - 2);
    }
    pen.fillStyle = label;
    pen.fillText(text, left + 4, BAND.top + BAND.height / 2 + 0.5);
  }
}

/**
 * What is left of a phase under another that is painted over it: the larger part.
 *
 * @param {{left: number, right: number}} under changed
 * @param {number} left
 * @param {number} right
 */
function uncover(under, left, right) {
  if (right <= under.left || left >= under.right) return;
  if (left - under.left >= under.right - right) under.right = Math.max(under.left, left);
  else under.left = Math.min(under.right, right);
}

/**
 * @param {string} name
 * @returns {string} a phase as pages name it; an unknown one by its own name
 */
export function labelOf(name) {
  return Object.hasOwn(PHASES, name) ? PHASES[name].label : name;
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {string} colour
 * @returns {CanvasPattern | null}
 */
function hatchPattern(pen, colour) {
  const tile = document.createElement('canvas');
  tile.width = HATCH_STEP;
  tile.height = HATCH_STEP;
  const brush = tile.getContext('2d');
  if (!brush) return null;
  brush.strokeStyle = colour;
  brush.lineWidth = 1.4;
  brush.beginPath();
  for (const shift of [-HATCH_STEP, 0, HATCH_STEP]) {
    brush.moveTo(shift - 1, HATCH_STEP + 1);
    brush.lineTo(shift + HATCH_STEP + 1, -1);
  }
  brush.stroke();
  return pen.createPattern(tile, 'repeat');
}

/**
 * Utilization: filled up to the mean of each pixel, paler up to its greatest.
 *
 * @param {CanvasRenderingContext2D} pen
 * @param {Series} series
 * @param {Span} span
 * @param {number} width
 * @param {Ink} ink
 */
function drawArea(pen, series, span, width, ink) {
  const columns = envelope(series, 'util', span, Math.ceil(width));
  const bottom = PLOT.top + PLOT.height;
  for (const [heights, colour] of /** @type {[Float64Array, string][]} */ ([[columns.high, ink.areaHigh], [columns.mean, ink.area]])) {
    pen.fillStyle = colour;
    for (let x = 0; x < heights.length; x++) {
      if (Number.isNaN(heights[x])) continue;
      const height = Math.min(1, Math.max(0, heights[x] / 100)) * PLOT.height;
      pen.fillRect(x, bottom - height, 1, height);
    }
  }
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {Series} series
 * @param {string} name
 * @param {number} top value at the upper edge
 * @param {Span} span
 * @param {number} width pixels of the span
 * @param {{across: [number, number], colour: string, dashed?: boolean}} look across: pixels where it is drawn
 */
function drawLine(pen, series, name, top, span, width, { across: [left, right], colour, dashed = false }) {
  const { mean } = envelope(series, name, span, Math.ceil(width));
  const y = (/** @type {number} */ value) => PLOT.top + PLOT.height - Math.min(1, Math.max(0, value / (top || 1))) * PLOT.height;
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, right - left, ROW_HEIGHT);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1.25;
  pen.lineJoin = 'round';
  if (dashed) pen.setLineDash([4, 2]);
  pen.beginPath();
  let drawing = false;
  for (let x = Math.max(0, Math.floor(left)); x < Math.min(mean.length, right); x++) {
    if (Number.isNaN(mean[x])) {
      drawing = false;
      continue;
    }
    if (drawing) pen.lineTo(x, y(mean[x]));
    else pen.moveTo(x, y(mean[x]));
    pen.lineTo(x + 1, y(mean[x]));
    drawing = true;
  }
  pen.stroke();
  pen.restore();
}

/**
 * Where another engine takes the lane over.
 *
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {Ink} ink
 */
function drawEdge(pen, x, ink) {
  pen.save();
  pen.strokeStyle = ink.none;
  pen.setLineDash([2, 2]);
  pen.beginPath();
  pen.moveTo(Math.round(x) + 0.5, BAND.top);
  pen.lineTo(Math.round(x) + 0.5, PLOT.top + PLOT.height);
  pen.stroke();
  pen.restore();
}
