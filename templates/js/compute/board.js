/**
 * The lanes of a window, drawn and explained: rows, axis, requests, tooltip.
 *
 * @typedef {import('../types').Context} Context
 * @typedef {import('./data.js').Base} Base
 * @typedef {import('./data.js').View} View
 * @typedef {import('./lanes.js').Row} Row
 * @typedef {import('./requests.js').Requests} Requests
 * @typedef {import('./state.js').State} State
 * @typedef {import('./window.js').Span} Span
 */

import { el } from '../dom.js';
import { number, plural, value as cell } from '../format.js';
import { latest } from '../state/param.js';
import { failure } from '../ui/failure.js';
import { createTooltip, tooltipRows } from '../ui/tooltip.js';
import { momentText } from './clock.js';
import { createReader } from './data.js';
import { ROW_HEIGHT, drawRow, readInk } from './draw.js';
import { mountGestures } from './gestures.js';
import { hoverRows } from './hover.js';
import { REQUESTS_HEIGHT, drawRequests, readRequests, requestAt } from './requests.js';
import { readingAt } from './samples.js';
import { createStack } from './stack.js';
import { isWhole, moved, zoomed } from './window.js';

const REQUESTS = 'requests';
const READ_PAUSE_MS = 90;
const BAND_HEIGHT = 36;
/** @type {Requests} */
const NO_REQUESTS = { lives: [], steps: [], problem: '' };

/**
 * @param {Context} context
 * @param {Base} base
 * @param {{whole: Span, onSpan: (span: Span) => void, onFollow: (span: Span) => void}} settings onFollow: of a wheel or a drag under way
 */
export function createBoard(context, base, { whole, onSpan, onFollow }) {
  const reader = createReader(context, base);
  const tooltip = createTooltip();
  const trouble = el('div');
  const legend = el('p', { class: 'caption muted compute-scales' });
  const stack = createStack({ paint }, { label: 'Lanes over time. Plus and minus zoom, arrows move, 0 shows the whole run, brackets go from step to step.' });
  const node = el('div', null, trouble, stack.node, legend);
  /** @type {State} */
  let state = { span: whole, lanes: [], overlay: null, shown: [], utc: false };
  /** @type {Row[]} */
  let rows = [];
  /** @type {View} */
  let view = { phases: new Map(), gpus: new Map(), engines: new Map() };
  let requests = NO_REQUESTS;
  let tops = { mem_mb: 1, power_w: 1, overlay: 1 };
  let ink = readInk(document.body);
  let timer = 0;
  let pointed = 0;

  const zero = () => (state.utc ? 0 : whole[0]);
  const read = latest(
    async (/** @type {{rows: Row[], span: Span, overlay: string | null}} */ wanted) => {
      const found = await Promise.all([
        reader.read(wanted.rows, wanted.span, wanted.overlay, stack.width() || 800),
        readRequests(context, base.catalog, base.steps, wanted.span),
      ]);
      return found;
    },
    ([next, live]) => {
      trouble.replaceChildren();
      view = next;
      const before = hasRequests(requests);
      requests = live;
      if (hasRequests(live) !== before || live.problem) setItems();
      measure();
      stack.stale();
      node.dataset.drawn = String(Number(node.dataset.drawn ?? 0) + 1);
    },
    error => {
      context.log.warn('The lanes cannot be read.', error);
      trouble.replaceChildren(failure(error, { what: 'The lanes', retry: () => ask(0) }));
    });
  const ask = (/** @type {number} */ pause) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => read({ rows, span: state.span, overlay: state.overlay }), pause);
  };

  function measure() {
    tops = { mem_mb: 1, power_w: 1, overlay: 1e-9 };
    for (const series of view.gpus.values()) {
      tops.mem_mb = Math.max(tops.mem_mb, topOf(series.values.mem_mb.high));
      tops.power_w = Math.max(tops.power_w, topOf(series.values.power_w.high));
    }
    const addrs = new Set(rows.flatMap(row => row.stays.map(stay => stay.addr)));
    for (const [addr, series] of view.engines) if (addrs.has(addr)) tops.overlay = Math.max(tops.overlay, topOf(series.values.value.high));
    const hasGpus = view.gpus.size > 0;
    const parts = [
      rows.some(row => view.phases.has(row.key)) ? 'band: phase' : '',
      hasGpus && state.shown.includes('util') ? 'area: utilization, 0 to 100 %' : '',
      hasGpus && state.shown.includes('mem_mb') ? `dashes: memory, 0 to ${number(tops.mem_mb)} MiB` : '',
      hasGpus && state.shown.includes('power_w') ? `red line: power, 0 to ${number(tops.power_w)} W` : '',
      state.overlay && tops.overlay > 1e-9 ? `line: ${state.overlay} of the lane’s engine, 0 to ${number(tops.overlay)}` : '',
    ].filter(Boolean);
    legend.textContent = parts.join(' · ');
  }

  function setItems() {
    const items = rows.map(row => ({ key: row.key, title: row.title, detail: row.detail, note: row.note, height: heightOf(row), marked: row.note !== '' && row.lane !== null, wraps: false }));
    if (hasRequests(requests)) {
      const detail = requests.lives.length ? `${plural(requests.lives.length, 'sample')} of ${plural(requests.steps.length, 'step')}, by first event` : requests.problem || 'none in this window';
      items.push({ key: REQUESTS, title: 'requests', detail, note: '', height: requests.lives.length ? REQUESTS_HEIGHT : ROW_HEIGHT, marked: false, wraps: true });
    }
    stack.setRows(items);
  }

  /** @param {string} key @returns {import('./draw.js').Scene | null} */
  function sceneOf(key) {
    const row = rows.find(one => one.key === key);
    if (!row) return null;
    return { row, phases: view.phases.get(key) ?? [], gpu: view.gpus.get(key) ?? null, engines: view.engines, shown: state.shown, tops };
  }

  /**
   * @param {string} key
   * @param {CanvasRenderingContext2D} pen
   * @param {number} width
   * @returns {string}
   */
  function paint(key, pen, width) {
    if (key === REQUESTS) {
      drawRequests(pen, requests, state.span, width);
      return '';
    }
    const scene = sceneOf(key);
    if (!scene) return '';
    drawRow(pen, scene, state.span, width, ink);
    return newest(scene);
  }

  /** @param {import('./draw.js').Scene} scene @returns {string} the last value in the window */
  function newest({ row, gpu, engines }) {
    const end = state.span[1];
    const stay = [...row.stays].reverse().find(one => one.from < end && one.to > state.span[0]);
    const series = stay && engines.get(stay.addr);
    const at = series ? readingAt(series, Math.min(end, stay.to)) : -1;
    if (series && at >= 0 && series.values.value.mean[at] !== null) return cell(series.values.value.mean[at], 'number');
    const last = gpu && state.shown.includes('util') ? readingAt(gpu, end) : -1;
    const util = gpu && last >= 0 ? gpu.values.util.mean[last] : null;
    return util === null ? '' : `${number(util)} %`;
  }

  /**
   * @param {number} share
   * @param {PointerEvent} event
   */
  function point(share, event) {
    const time = state.span[0] + share * (state.span[1] - state.span[0]);
    stack.setCursor(share);
    const target = /** @type {Element} */ (event.target);
    const key = target.closest?.('[data-row]')?.getAttribute('data-row') ?? '';
    const moment = (/** @type {number} */ at) => momentText(at, zero(), state.span[1] - state.span[0] < 600);
    const anchor = { left: event.clientX, top: event.clientY + 8 };
    const mine = ++pointed;
    if (key === REQUESTS) {
      const frame = target.getBoundingClientRect();
      const life = requestAt(requests, event.clientY - frame.top);
      if (!life) return tooltip.hide();
      const now = life.spans.filter(one => one.from <= time && time <= one.to).at(-1);
      const doing = { gen: now?.version ? `generating, v${now.version}` : 'generating', tool: 'waiting for a tool' }[now?.kind ?? ''] ?? (now ? 'queued' : 'not there');
      return tooltip.show(anchor, el('b', null, `Sample ${life.index}`), tooltipRows([
        { label: 'Step', value: String(life.step) }, { label: moment(time), value: doing }, { label: 'Status', value: life.status || 'not ended' },
        { label: 'From', value: moment(life.start) }, { label: 'To', value: moment(life.end) },
      ]));
    }
    const scene = sceneOf(key);
    if (!scene) return tooltip.hide();
    const show = (/** @type {any[]} */ processes) => tooltip.show(anchor,
      el('b', null, [scene.row.title, scene.row.detail].filter(Boolean).join(' · ')), el('div', { class: 'muted' }, moment(time)),
      tooltipRows(hoverRows(scene, time, { metric: state.overlay, processes, moment })));
    show([]);
    reader.processes(scene.row, time).then(
      processes => { if (mine === pointed && processes.length) show(processes); },
      error => context.log.warn('The processes cannot be read.', error));
  }

  function leave() {
    pointed += 1;
    tooltip.hide();
    stack.setCursor(null);
  }

  const size = () => state.span[1] - state.span[0];
  const same = (/** @type {Span} */ a, /** @type {Span} */ b) => Math.abs(a[0] - b[0]) < 1e-6 && Math.abs(a[1] - b[1]) < 1e-6;
  const off = mountGestures(stack.node, stack.frame, {
    onZoom(at, factor) {
      const next = zoomed(state.span, factor, state.span[0] + at * size(), whole);
      if (same(next, state.span)) return false;
      leave();
      onFollow(next);
      return true;
    },
    onPan: by => onFollow(moved(state.span, by * size(), whole)),
    onSelect: (from, to) => onSpan([state.span[0] + from * size(), state.span[0] + to * size()]),
    onReset: () => onSpan(whole),
    onStep(by) {
      const middle = (state.span[0] + state.span[1]) / 2;
      const at = base.steps.findIndex(step => step.from <= middle && middle < step.to);
      const next = isWhole(state.span, whole) ? base.steps[by > 0 ? 0 : base.steps.length - 1] : base.steps[at + by];
      if (next) onSpan([next.from, next.to]);
    },
    onPoint: point,
    onLeave: leave,
    canPan: () => !isWhole(state.span, whole),
    onMark: (from, to) => stack.setChosen(from, to),
  });
  const scheme = window.matchMedia('(prefers-color-scheme: dark)');
  const recolour = () => {
    ink = readInk(stack.node);
    stack.stale();
  };
  scheme.addEventListener('change', recolour);
  const themed = new MutationObserver(recolour);
  themed.observe(document.documentElement, { attributes: true });

  return {
    node,
    tooltip,
    /**
     * @param {State} next
     * @param {Row[]} shown
     */
    show(next, shown) {
      const other = shown.length !== rows.length || shown.some((row, i) => row !== rows[i]);
      state = next;
      rows = shown;
      if (other) setItems();
      const marks = [
        ...base.steps.map(step => ({ from: step.from, to: step.from, text: `step ${step.step}`, kind: /** @type {const} */ ('step') })),
        ...base.faults.map(fault => ({ ...fault, kind: /** @type {const} */ ('fault') })),
      ];
      stack.setAxis(state.span, zero(), marks);
      measure();
      stack.stale();
      ask(node.dataset.drawn ? READ_PAUSE_MS : 0);
    },
    dispose() {
      clearTimeout(timer);
      off();
      themed.disconnect();
      scheme.removeEventListener('change', recolour);
      stack.dispose();
      tooltip.dispose();
    },
  };
}

/** @param {Row} row @returns {number} pixels: of a process without GPU and engine there is a band alone */
function heightOf({ lane, stays }) {
  return lane || stays.length ? ROW_HEIGHT : BAND_HEIGHT;
}

/** @param {Requests} requests @returns {boolean} */
function hasRequests({ lives, problem }) {
  return lives.length > 0 || problem !== '';
}

/** @param {ArrayLike<number | null>} values @returns {number} the greatest, at least 0 */
function topOf(values) {
  let top = 0;
  for (let i = 0; i < values.length; i++) top = Math.max(top, values[i] ?? 0);
  return top;
}

