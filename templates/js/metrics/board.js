import { el, fill, on } from '../dom.js';
import { count, plural } from '../format.js';
import { carried, xDomains } from './axes.js';
import { createCell } from './cell.js';
import { faultSpan } from './faults.js';
import { matcher, positions, sortSections, stepTimes } from './series.js';

/**
 * @typedef {import('./series.js').Series} Series
 * @typedef {import('./state.js').State} State
 * @typedef {import('./cell.js').Cell} Cell
 * @typedef {{
 *   words: Record<string, import('./cell.js').Words>, order: string[], start: number, pins: string[],
 *   copyAs: (series: Series) => HTMLElement, onPin: (id: string) => void, onZoom: (zoom: [number, number] | null) => void
 *   engines: number, faults: import('./faults.js').Fault[]
 * }} Settings pins: the ones of the build; engines: metrics in the section of their own, 0 for none
 */

/** @type {import('./cell.js').Words} */
const NO_WORDS = ['', '', 'number'];

/**
 * All charts in their sections. Only those in view are drawn; one cursor and one zoom serve all.
 *
 * @param {{nav: HTMLElement, body: HTMLElement}} hosts
 * @param {Series[]} all metrics, and the data buffer with a category of its own
 * @param {Settings} settings
 * @returns {{render: (state: State) => void, shown: () => Series[], dispose: () => void}}
 */
export function createBoard({ nav, body }, all, settings) {
  const times = stepTimes(all);
  const nKeys = all.filter(series => series.category !== BUFFER).length;
  const byId = new Map(all.map(series => [series.id, series]));
  /** @type {Map<Element, Cell>} */
  const cells = new Map();
  /** @type {Set<Cell>} */
  const inView = new Set();
  /** @type {State} */
  let state;
  /** @type {Map<Series, (number | null)[]>} */
  let xs = new Map();
  /** @type {ReturnType<typeof xDomains>} */
  let domains;
  let layout = '';
  let frame = 0;

  const observer = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const cell = cells.get(entry.target);
      if (!cell) continue;
      if (entry.isIntersecting) {
        inView.add(cell);
        cell.draw();
      } else {
        inView.delete(cell);
        cell.drop();
      }
    }
  }, { rootMargin: '150px' });

  const axisOf = (/** @type {Series} */ series) => (series.stepKey === BUFFER_AXIS ? 'time' : state.axis);
  const full = (/** @type {Series} */ series) =>
    (series.stepKey === BUFFER_AXIS && state.axis === 'step' ? bufferDomain(xs.get(series) ?? []) : domains.domain(series.stepKey));
  /** @type {import('./cell.js').Board} */
  const board = {
    words: key => (Object.hasOwn(settings.words, key) ? settings.words[key] : NO_WORDS),
    xs: series => xs.get(series) ?? [],
    full,
    options: series => {
      const whole = full(series);
      const zoom = state.zoom;
      const domain = zoom ? /** @type {[number, number]} */ (zoom.map(value => carried(value, domains.main, whole))) : whole;
      const faults = faultsOn(axisOf(series), series.stepKey);
      return { domain: widened(domain), axis: axisOf(series), log: state.log, smoothing: state.smoothing, word: wordOf(series), faults };
    },
    isPinned: series => pins().includes(series.id),
    copyAs: settings.copyAs,
    onPin: series => settings.onPin(series.id),
    onCursor(part) {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => inView.forEach(cell => cell.cursor(part)));
    },
    onZoom(part) {
      settings.onZoom(part && /** @type {[number, number]} */ (part.map(share => carried(share, [0, 1], domains.main))));
    },
  };
  /** @param {'step' | 'time'} axis @param {string} stepKey @returns {{span: [number, number], text: string}[]} */
  const faultsOn = (axis, stepKey) => (axis === 'time' || stepKey === 'rollout/step' ? settings.faults : []).flatMap(fault => {
    const span = faultSpan(fault, axis, { start: settings.start, times });
    return span ? [{ span, text: fault.text }] : [];
  });
  const pins = () => state.pins ?? settings.pins;

  const sections = () => {
    const matches = matcher(state.filter);
    const shown = all.filter(series => matches(series.key, board.words(series.key)[0]));
    /** @type {Map<string, Series[]>} */
    const named = new Map();
    const names = sortSections([...new Set(shown.map(series => series.category))], settings.order);
    for (const name of [...names.filter(name => name !== BUFFER), ...names.filter(name => name === BUFFER)]) named.set(name, []);
    shown.forEach(series => named.get(series.category)?.push(series));
    const pinned = /** @type {Series[]} */ (pins().map(id => byId.get(id)).filter(Boolean));
    return { pinned: state.filter ? [] : pinned, named, n: shown.length };
  };

  const build = () => {
    observer.disconnect();
    cells.clear();
    inView.clear();
    const { pinned, named, n } = sections();
    const groups = /** @type {[string, string, Series[]][]} */ ([
      ...(pinned.length ? [['Pinned', `${count(pinned.length)} of ${count(nKeys)}`, pinned]] : []),
      ...[...named].map(([name, list]) => [name, plural(list.length, 'key'), list]),
    ]);
    fill(nav, groups.map(([name, , list], i) => el('li', null, el('a', { href: `#metrics-${i}`, class: name === 'Pinned' ? 'chosen' : null },
      el('span', { class: 'clip' }, titleOf(name)), ' ', el('span', { class: 'rail-count' }, count(list.length))))),
      settings.engines ? el('li', null, el('a', { href: '#sglang' }, el('span', { class: 'clip' }, 'sglang'), ' ', el('span', { class: 'rail-count' }, count(settings.engines)))) : null);
    fill(body, groups.map(([name, note, list], i) => section(name, note, list, i)),
      n ? null : el('div', { class: 'empty' }, el('p', { class: 'empty-title' }, 'No key has these words.'), el('p', null, 'The filter looks for every word in keys and explanations.')));
    for (const node of cells.keys()) observer.observe(node);
  };

  /** @param {string} name @param {string} note @param {Series[]} list @param {number} i */
  const section = (name, note, list, i) => {
    const grid = el('div', { class: name === BUFFER ? 'metric-grid wide' : 'metric-grid' });
    for (const series of list) {
      const cell = createCell(series, board);
      cells.set(cell.node, cell);
      grid.append(cell.node);
    }
    return el('section', { class: 'section', id: `metrics-${i}` },
      el('div', { class: 'section-head' }, el('h2', null, titleOf(name)), el('p', { class: 'note' }, note)), grid);
  };

  const off = on(window, 'resize', () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => inView.forEach(cell => cell.draw()));
  });
  return {
    render(next) {
      const axisChanged = !state || state.axis !== next.axis;
      state = next;
      if (axisChanged) {
        xs = new Map(all.map(series => [series, positions(series, axisOf(series), times, settings.start)]));
        const shared = all.filter(series => series.stepKey !== BUFFER_AXIS || state.axis === 'time');
        domains = xDomains(shared.map(series => ({ stepKey: series.stepKey, xs: xs.get(series) ?? [] })), state.axis);
      }
      body.dataset.columns = String(state.columns);
      const wanted = JSON.stringify([state.filter, pins()]);
      if (wanted !== layout) {
        layout = wanted;
        build();
      } else {
        inView.forEach(cell => cell.draw());
      }
    },
    shown: () => [...sections().named.values()].flat(),
    dispose() {
      off();
      observer.disconnect();
      cancelAnimationFrame(frame);
    },
  };
}

/** Category and axis of the queue between rollout and training. */
export const BUFFER = 'data_buffer';
export const BUFFER_AXIS = 'data_buffer';

/**
 * @param {string} name of a category
 * @returns {string}
 */
function titleOf(name) {
  return name === BUFFER ? 'data buffer' : name;
}

/**
 * @param {(number | null)[]} xs ascending times
 * @returns {[number, number]}
 */
function bufferDomain(xs) {
  return xs.length ? [xs[0] ?? 0, xs[xs.length - 1] ?? 1] : [0, 1];
}

/**
 * @param {[number, number]} domain
 * @returns {[number, number]} a single x gets room on both sides
 */
function widened([low, high]) {
  return high > low ? [low, high] : [low - 0.5, high + 0.5];
}

/**
 * @param {Series} series
 * @returns {string} what x counts
 */
function wordOf(series) {
  if (series.steps.every(step => step === null)) return 'record';
  return 'step';
}
