/**
 * Chart of one series over position: turns and tools named on top, an outline around what the strip
 * shows. Each pixel draws the lowest and the highest value of its tokens, so that spikes survive.
 */

import { el, fill, on } from '../dom.js';
import { count, fixed, signed } from '../format.js';
import { linearScale, ticks } from '../marks/scale.js';
import { envelope } from './envelope.js';
import { versionName } from './head.js';
import { extent } from './scale.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {import('./payload.js').Series} Series */
/**
 * @typedef {object} Overview
 * @property {(series: Series|null, caption: string) => void} show
 * @property {(first: number, last: number) => void} view
 * @property {(index: number|null) => void} select
 * @property {() => void} dispose
 */

const LEAST_LEFT = 36;
const PLOT = 96;
const TOP = 20;
const HATCH = 6;
const TICKS = 4;
const THICKEST = 16;

/**
 * @param {HTMLElement} host
 * @param {Tokens} tokens
 * @param {(first: number) => void} scrollTo the token that shall stand at the top of the strip
 * @returns {Overview}
 */
export function createOverview(host, tokens, scrollTo) {
  const canvas = el('canvas', { 'aria-hidden': 'true' });
  const names = el('div', { class: 'overview-names' });
  const axis = el('div', { class: 'overview-axis' });
  const brush = el('div', { class: 'overview-brush' }, el('i', null), el('i', null));
  const cursor = el('div', { class: 'overview-cursor', hidden: true });
  const plot = el('div', { class: 'overview-plot' }, canvas, names, brush, cursor);
  fill(host, plot, axis);
  /** @type {Series|null} */
  let series = null;
  let seen = { first: 0, last: 0 };
  let left = LEAST_LEFT;
  let caption = '';

  const width = () => Math.max(60, host.clientWidth - left);
  /** @param {number} index */
  const xOf = (index) => (index / Math.max(1, tokens.length)) * width();

  function draw() {
    const full = host.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(full * ratio);
    canvas.height = Math.round((TOP + PLOT) * ratio);
    canvas.style.width = `${full}px`;
    canvas.style.height = `${TOP + PLOT}px`;
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    pen.scale(ratio, ratio);
    const colours = coloursOf(host);
    pen.font = `12px ${colours.font}`;
    left = series ? leftOf(pen, series) : LEAST_LEFT;
    drawSegments(pen, colours);
    if (series) drawSeries(pen, series, colours);
    fill(names, segmentNames());
    fill(axis, positionTicks());
    drawBrush();
    host.setAttribute('aria-label', caption);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Record<string, string>} colours
   */
  function drawSegments(pen, colours) {
    const hatch = hatchOf(pen, colours.line);
    for (const segment of tokens.segments) {
      const x = left + xOf(segment.start);
      const wide = xOf(segment.end) - xOf(segment.start);
      pen.fillStyle = segment.kind === 'prompt' ? colours.wash : hatch;
      if (segment.kind !== 'turn' && segment.kind !== 'response') pen.fillRect(x, TOP, wide, PLOT);
      if (segment.start === 0) continue;
      pen.fillStyle = colours.line;
      pen.fillRect(Math.round(x), 0, 1, TOP + PLOT);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Series} shown
   * @param {Record<string, string>} colours
   */
  function drawSeries(pen, shown, colours) {
    const domain = domainOf(shown);
    const y = linearScale(domain, [TOP + PLOT, TOP]);
    const twoSided = domain[0] < 0 && domain[1] > 0;
    pen.font = `12px ${colours.font}`;
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    for (const tick of ticks(domain, TICKS)) {
      pen.fillStyle = tick === 0 ? colours.axis : colours.grid;
      pen.fillRect(left, Math.round(y(tick)), width(), 1);
      pen.fillStyle = colours.muted;
      pen.fillText(tickText(tick, twoSided), left - 6, Math.min(TOP + PLOT - 6, Math.max(TOP + 6, y(tick))));
    }
    const columns = Math.max(1, Math.min(Math.floor(width()), tokens.length));
    const step = width() / columns;
    const thick = Math.min(THICKEST, Math.max(1, step > 3 ? step - 1 : step));
    const { low: lows, high: highs, strange } = envelope(shown, columns);
    const zero = y(0);
    for (let column = 0; column < columns; column += 1) {
      const x = left + column * step + (step - thick) / 2;
      if (highs[column] > 0) bar(pen, twoSided ? colours.above : colours.below, x, y(highs[column]), zero, thick);
      if (lows[column] < 0) bar(pen, colours.below, x, zero, y(lows[column]), thick);
      if (!strange[column]) continue;
      pen.fillStyle = colours.critical;
      pen.fillRect(x - 1, TOP, Math.max(3, thick), 5);
    }
    labelTop(pen, shown, y, colours);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Series} shown
   * @param {import('../types').Scale} y
   * @param {Record<string, string>} colours
   */
  function labelTop(pen, shown, y, colours) {
    let best = -1;
    for (let i = 0; i < shown.values.length; i += 1) {
      if (!shown.known[i] || !Number.isFinite(shown.values[i])) continue;
      if (best < 0 || Math.abs(shown.values[i]) > Math.abs(shown.values[best])) best = i;
    }
    if (best < 0 || shown.values[best] === 0) return;
    const text = valueText(shown.values[best], y.domain[0] < 0);
    const x = left + xOf(best);
    const right = x < host.clientWidth - 64;
    pen.font = `600 12px ${colours.font}`;
    pen.textAlign = right ? 'left' : 'right';
    pen.lineWidth = 4;
    pen.strokeStyle = colours.paper;
    pen.fillStyle = colours.text;
    const at = Math.max(TOP + 8, Math.min(TOP + PLOT - 8, y(shown.values[best])));
    pen.strokeText(text, x + (right ? 8 : -6), at);
    pen.fillText(text, x + (right ? 8 : -6), at);
  }

  /** @returns {HTMLElement[]} names of the segments that have room for them */
  function segmentNames() {
    /** @type {HTMLElement[]} */
    const labels = [];
    let free = -1;
    const spread = tokens.segments.filter((one, index) => one.kind !== 'prompt' || index === 0);
    spread.forEach((segment, index) => {
      const x = xOf(segment.start);
      const next = index + 1 < spread.length ? xOf(spread[index + 1].start) : width();
      const version = segment.version ? ` ${versionName(segment.version)}` : '';
      const label = segment.kind === 'prompt' ? 'prompt' : segment.label;
      const fits = [label + version, label].find((text) => x + text.length * 6.8 + 6 <= next);
      if (!fits || x < free) return;
      free = x + fits.length * 6.8 + 6;
      labels.push(
        el(
          'span',
          { class: segment.kind, style: { left: `${left + x + 4}px` } },
          segment.kind === 'turn' ? el('b', null, label) : label,
          fits === label ? null : version,
        ),
      );
    });
    return labels;
  }

  /** @returns {HTMLElement[]} */
  function positionTicks() {
    if (tokens.length === 0) return [];
    const wanted = Math.max(2, Math.floor(width() / 130));
    return ticks([0, tokens.length], wanted)
      .filter((tick) => Number.isInteger(tick) && tick < tokens.length)
      .map((tick) =>
        el('span', { class: tick === 0 ? 'first' : null, style: { left: `${left + xOf(tick)}px` } }, tick === 0 ? 'position 0' : count(tick)),
      );
  }

  function drawBrush() {
    const from = left + xOf(seen.first);
    const to = left + xOf(seen.last + 1);
    brush.style.left = `${from}px`;
    brush.style.width = `${Math.max(8, to - from)}px`;
    brush.hidden = tokens.length === 0;
  }

  /** @param {PointerEvent} event */
  function start(event) {
    if (event.button !== 0 || tokens.length === 0) return;
    event.preventDefault();
    const box = host.getBoundingClientRect();
    /** @param {number} x */
    const at = (x) => ((x - box.left - left) / width()) * tokens.length;
    const shown = seen.last - seen.first;
    const grabbed = at(event.clientX);
    const inside = grabbed >= seen.first && grabbed <= seen.last + 1;
    const offset = inside ? grabbed - seen.first : shown / 2;
    /** @param {PointerEvent} moved */
    const move = (moved) => {
      const first = Math.round(at(moved.clientX) - offset);
      scrollTo(Math.max(0, Math.min(tokens.length - 1, first)));
    };
    if (!inside) move(event);
    plot.setPointerCapture(event.pointerId);
    plot.addEventListener('pointermove', move);
    plot.addEventListener('pointerup', () => plot.removeEventListener('pointermove', move), { once: true });
    plot.addEventListener('pointercancel', () => plot.removeEventListener('pointermove', move), { once: true });
  }

  const observer = new ResizeObserver(draw);
  observer.observe(host);
  const media = window.matchMedia('(prefers-color-scheme: dark)');
  const off = [on(plot, 'pointerdown', start), on(document, 'themechange', draw), on(media, 'change', draw)];
  host.setAttribute('role', 'img');

  return {
    show(next, text) {
      series = next;
      caption = text;
      draw();
    },
    view(first, last) {
      seen = { first, last };
      drawBrush();
    },
    select(index) {
      cursor.hidden = index === null;
      if (index !== null) cursor.style.left = `${left + xOf(index + 0.5)}px`;
    },
    dispose() {
      observer.disconnect();
      off.forEach((stop) => stop());
    },
  };
}

/**
 * @param {Series} series
 * @returns {[number, number]} with zero and some room beyond the values
 */
function domainOf(series) {
  const range = extent(series);
  const low = Math.min(0, range.low);
  const high = Math.max(0, range.high);
  const room = (high - low || 1) * 0.08;
  return [low < 0 ? low - room : 0, high > 0 || low === high ? high + room : 0];
}

/**
 * @param {CanvasRenderingContext2D} pen with the font of the axis
 * @param {Series} series
 * @returns {number} width that its tick labels need
 */
function leftOf(pen, series) {
  const widths = ticks(domainOf(series), TICKS).map((tick) => pen.measureText(tickText(tick, true)).width);
  return Math.max(LEAST_LEFT, Math.ceil(Math.max(...widths)) + 10);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {string} colour
 * @param {number} x
 * @param {number} top
 * @param {number} bottom
 * @param {number} thick
 */
function bar(pen, colour, x, top, bottom, thick) {
  pen.fillStyle = colour;
  pen.fillRect(x, top, thick, Math.max(1, bottom - top));
}

/**
 * @param {number} value
 * @param {boolean} plus whether values above zero carry their sign
 * @returns {string}
 */
function tickText(value, plus) {
  const digits = Number.isInteger(value) ? 0 : Math.min(4, Math.max(1, -Math.floor(Math.log10(Math.abs(value)) + 1e-9)));
  return plus ? signed(value, (one) => fixed(one, digits)) : fixed(value, digits);
}

/**
 * @param {number} value
 * @param {boolean} plus
 * @returns {string}
 */
function valueText(value, plus) {
  const digits = Math.abs(value) >= 1 ? 2 : 4;
  return plus ? signed(value, (one) => fixed(one, digits)) : fixed(value, digits);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {string} colour
 * @returns {CanvasPattern|string}
 */
function hatchOf(pen, colour) {
  const tile = document.createElement('canvas');
  tile.width = HATCH;
  tile.height = HATCH;
  const draw = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
  draw.strokeStyle = colour;
  draw.lineWidth = 1;
  for (const shift of [-HATCH, 0, HATCH]) {
    draw.moveTo(shift, HATCH);
    draw.lineTo(shift + HATCH, 0);
  }
  draw.stroke();
  return pen.createPattern(tile, 'repeat') ?? colour;
}

/**
 * @param {HTMLElement} host
 * @returns {Record<string, string>} colours of the theme, as the canvas needs them
 */
function coloursOf(host) {
  const style = getComputedStyle(host);
  const read = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    wash: read('--wash'),
    line: read('--line'),
    grid: read('--grid'),
    axis: read('--axis'),
    muted: read('--muted'),
    text: read('--text'),
    paper: read('--paper'),
    critical: read('--critical'),
    above: read('--c-vermilion'),
    below: read('--c-blue'),
    font: style.fontFamily,
  };
}
