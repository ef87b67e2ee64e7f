/**
 * The strip of tokens: a table of segments whose lines exist only where they are seen.
 * Wide pages scroll inside the strip, narrow ones scroll the page.
 */

import { el, on } from '../dom.js';
import { layOut, lineExtremes, lineOf } from './layout.js';
import { createPainter } from './painter.js';
import { segmentAt } from './segments.js';
import { createRuler } from './ruler.js';
import { gutterOf, marginBar } from './stripparts.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {import('./scale.js').Scale} Scale */
/** @typedef {import('./payload.js').Series} Series */
/** @typedef {import('./layout.js').Layout} Layout */
/**
 * @typedef {object} Strip
 * @property {(series: Series|null, scale: Scale|null) => void} colour
 * @property {(index: number|null) => void} select
 * @property {(index: number, where?: 'start'|'nearest') => void} reveal
 * @property {(index: number) => void} show reveal it, and bring it into the window
 * @property {(ids: boolean) => void} showIds
 * @property {(hits: {start: number, end: number}[]) => void} mark
 * @property {(index: number, by: number) => number} lineStep token above or below
 * @property {(index: number) => HTMLElement|null} elementOf
 * @property {() => void} dispose
 */
/**
 * @typedef {object} Handlers
 * @property {(index: number|null) => void} hover
 * @property {(index: number) => void} choose
 * @property {(first: number, last: number) => void} view tokens that are seen
 */

export const LINE = 20;
const PAD = 4;
const GUTTER = 3 * 18 + 2 * PAD;
const NARROW = 720;
const OVERSCAN = 12 * LINE;
const EDGE = 2 * LINE;

/**
 * @param {HTMLElement} host
 * @param {Tokens} tokens
 * @param {Series|null} margin series whose largest value stands beside each line
 * @param {Handlers} handlers
 * @returns {Strip}
 */
export function createStrip(host, tokens, margin, handlers) {
  const content = el('div', { class: 'strip-content' });
  const scroller = el(
    'div',
    {
      class: 'token-strip',
      tabindex: '0',
      role: 'group',
      'aria-label': 'Tokens. Arrow keys move, Enter pins.',
    },
    content,
  );
  host.append(scroller);
  const ruler = createRuler(scroller);
  /** @type {Layout} */
  let layout = layOut([], shown, 80, ruler.cells);
  /** @type {Float32Array} */
  let extremes = new Float32Array(0);
  let top = new Float64Array(1);
  let narrow = false;
  let ids = false;
  const painter = createPainter(tokens);
  /** @type {Map<number, {block: HTMLElement, body: HTMLElement, bars: HTMLElement, lines: Map<number, HTMLElement[]>}>} */
  const blocks = new Map();
  const biggest = margin ? extreme(margin) : 0;

  /** @param {number} index */
  function shown(index) {
    return ids ? `${tokens.data.ids[index]} ` : tokens.shown(index);
  }

  function measure() {
    narrow = host.clientWidth < NARROW;
    scroller.classList.toggle('narrow', narrow);
    const cells = Math.max(8, Math.floor(ruler.bodyWidth() / ruler.cell) - 1);
    layout = layOut(tokens.segments, shown, cells, ruler.cells);
    extremes = margin ? lineExtremes(layout, margin) : new Float32Array(0);
    top = new Float64Array(tokens.segments.length + 1);
    tokens.segments.forEach((_, index) => {
      const lines = layout.segmentLine[index + 1] - layout.segmentLine[index];
      const height = lines * LINE + 2 * PAD + 1;
      top[index + 1] = top[index] + (narrow ? height + LINE : Math.max(height, GUTTER + 1));
    });
    content.style.height = `${top[tokens.segments.length]}px`;
    redraw();
  }

  /** The part of the content that is seen, in its own pixels. */
  function seen() {
    if (!narrow) return { from: scroller.scrollTop, to: scroller.scrollTop + scroller.clientHeight };
    const from = -content.getBoundingClientRect().top;
    return { from, to: from + window.innerHeight };
  }

  function redraw() {
    for (const { block } of blocks.values()) block.remove();
    blocks.clear();
    draw();
  }

  function draw() {
    if (layout.lines === 0 || host.clientWidth === 0) return;
    const { from, to } = seen();
    const first = segmentFrom(from - OVERSCAN);
    for (const [index, one] of blocks) {
      if (top[index + 1] >= from - OVERSCAN && top[index] <= to + OVERSCAN) continue;
      one.block.remove();
      blocks.delete(index);
    }
    for (let index = first; index < tokens.segments.length && top[index] <= to + OVERSCAN; index += 1) {
      drawSegment(index, from - OVERSCAN, to + OVERSCAN);
    }
    tell(from, to);
  }

  /** @param {number} pixel */
  function segmentFrom(pixel) {
    let low = 0;
    let high = tokens.segments.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (top[middle + 1] >= pixel) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** @param {number} index */
  function bodyTop(index) {
    return top[index] + PAD + (narrow ? LINE : 0);
  }

  /**
   * @param {number} index
   * @param {number} from
   * @param {number} to
   */
  function drawSegment(index, from, to) {
    const one = blocks.get(index) ?? addBlock(index);
    const start = layout.segmentLine[index];
    const end = layout.segmentLine[index + 1];
    const firstLine = Math.max(start, start + Math.floor((from - bodyTop(index)) / LINE));
    const lastLine = Math.min(end - 1, start + Math.ceil((to - bodyTop(index)) / LINE));
    for (const [line, parts] of one.lines) {
      if (line >= firstLine && line <= lastLine) continue;
      parts.forEach((part) => part.remove());
      one.lines.delete(line);
    }
    for (let line = firstLine; line <= lastLine; line += 1) {
      if (one.lines.has(line)) continue;
      const offset = (line - start) * LINE;
      const text = el('div', { class: 'line', style: { top: `${offset}px` } }, spans(line));
      one.body.append(text);
      const bar = margin ? marginBar(extremes[line], biggest, narrow) : null;
      if (bar) {
        bar.style.top = `${offset}px`;
        one.bars.append(bar);
      }
      one.lines.set(line, bar ? [text, bar] : [text]);
    }
  }

  /** @param {number} index */
  function addBlock(index) {
    const segment = tokens.segments[index];
    const body = el('div', { class: 'segment-body' });
    const bars = el('div', { class: 'segment-bars' });
    const block = el(
      'div',
      {
        class: `segment ${segment.kind}`,
        style: { top: `${top[index]}px`, height: `${top[index + 1] - top[index]}px` },
      },
      gutterOf(segment),
      body,
      bars,
    );
    content.append(block);
    /** @type {Map<number, HTMLElement[]>} */
    const lines = new Map();
    const one = { block, body, bars, lines };
    blocks.set(index, one);
    return one;
  }

  /**
   * @param {number} line
   * @returns {HTMLElement[]}
   */
  function spans(line) {
    const parts = [];
    for (let piece = layout.lineStart[line]; piece < layout.lineStart[line + 1]; piece += 1) {
      const token = layout.pieceToken[piece];
      parts.push(painter.span(token, shown(token).slice(layout.pieceFrom[piece], layout.pieceTo[piece])));
    }
    return parts;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  function tell(from, to) {
    if (tokens.length === 0) return;
    handlers.view(tokenAt(from, false), tokenAt(to, true));
  }

  /**
   * @param {number} pixel
   * @param {boolean} last
   */
  function tokenAt(pixel, last) {
    const index = segmentFrom(pixel);
    const start = layout.segmentLine[index];
    const end = layout.segmentLine[index + 1];
    const inside = Math.floor((pixel - bodyTop(index)) / LINE);
    const line = Math.max(start, Math.min(end - 1, start + inside));
    const piece = last ? layout.lineStart[line + 1] - 1 : layout.lineStart[line];
    return layout.pieceToken[Math.max(0, piece)] ?? 0;
  }

  /** @param {number} index */
  function pixelOf(index) {
    const segment = segmentAt(tokens.segments, index);
    return bodyTop(segment) + (lineOf(layout, index) - layout.segmentLine[segment]) * LINE;
  }

  /**
   * @param {number} index
   * @param {'start'|'nearest'} [where]
   */
  function reveal(index, where = 'nearest') {
    if (layout.lines === 0) return;
    const pixel = pixelOf(index);
    const { from, to } = seen();
    const height = to - from;
    if (where === 'nearest' && pixel >= from + LINE && pixel + 2 * LINE <= to) return;
    const target = where === 'start' ? pixel - PAD : pixel - height / 3;
    if (narrow) window.scrollTo(0, content.getBoundingClientRect().top + window.scrollY + target);
    else scroller.scrollTop = target;
    draw();
  }

  /** @param {number} index */
  function show(index) {
    reveal(index);
    const box = content.querySelector(`[data-i="${index}"]`)?.getBoundingClientRect();
    if (!box || narrow) return;
    const away = box.top < EDGE || box.bottom > window.innerHeight - EDGE;
    if (away) window.scrollBy(0, box.top - window.innerHeight / 2);
  }

  /** @param {Event} event */
  function tokenUnder(event) {
    const hit = event.target instanceof Element ? event.target.closest('[data-i]') : null;
    return hit instanceof HTMLElement ? Number(hit.dataset.i) : null;
  }

  const frame = oncePerFrame(draw);
  const observer = new ResizeObserver(onResize);
  let width = -1;
  function onResize() {
    if (host.clientWidth === 0) return;
    if (host.clientWidth === width) {
      frame();
      return;
    }
    const anchor = width < 0 ? null : tokenAt(seen().from + LINE, false);
    width = host.clientWidth;
    measure();
    if (anchor !== null && !narrow && scroller.scrollTop > 0) reveal(anchor, 'start');
  }
  const off = [
    on(scroller, 'scroll', frame, { passive: true }),
    on(window, 'scroll', () => narrow && frame(), { passive: true }),
    on(window, 'resize', frame),
    on(scroller, 'pointermove', (event) => handlers.hover(tokenUnder(event))),
    on(scroller, 'pointerleave', () => handlers.hover(null)),
    on(scroller, 'click', (event) => {
      const token = tokenUnder(event);
      if (token !== null) handlers.choose(token);
    }),
  ];
  onResize();
  observer.observe(host);
  document.fonts?.ready.then(() => ruler.stale() && measure());

  return {
    colour(series, scale) {
      painter.colour(series, scale);
      redraw();
    },
    select(index) {
      painter.select(index);
      for (const old of content.querySelectorAll('.t.selected')) old.classList.remove('selected');
      if (index === null) return;
      for (const part of content.querySelectorAll(`[data-i="${index}"]`)) part.classList.add('selected');
    },
    reveal,
    show,
    showIds(on) {
      if (ids === on) return;
      const anchor = tokens.length ? tokenAt(seen().from + LINE, false) : 0;
      ids = on;
      measure();
      reveal(anchor, 'start');
    },
    mark(hits) {
      painter.mark(hits);
      redraw();
    },
    lineStep(index, by) {
      const line = Math.max(0, Math.min(layout.lines - 1, lineOf(layout, index) + by));
      return layout.pieceToken[layout.lineStart[line]] ?? index;
    },
    elementOf: (index) => content.querySelector(`[data-i="${index}"]`),
    dispose() {
      observer.disconnect();
      off.forEach((stop) => stop());
      ruler.dispose();
      scroller.remove();
    },
  };
}

/**
 * @param {Series} series
 * @returns {number} largest finite magnitude
 */
function extreme(series) {
  let most = 0;
  for (let i = 0; i < series.values.length; i += 1) {
    const size = Math.abs(series.values[i]);
    if (series.known[i] && Number.isFinite(size)) most = Math.max(most, size);
  }
  return most;
}

/**
 * @param {() => void} work
 * @returns {() => void}
 */
function oncePerFrame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}
