/**
 * The section sglang: every engine metric as a chart, a line an engine or dp rank, read as it comes into view.
 *
 * @typedef {import('../types').Context} Context
 * @typedef {import('../types').Catalog} Catalog
 * @typedef {import('../compute/samples.js').Series} Series
 * @typedef {import('../compute/window.js').Span} Span
 *
 * @typedef {{span: Span, split: boolean, hidden: string[], filter: string}} State hidden: addresses that are not drawn; filter: of the
 *   page, which the toolbar above writes
 * @typedef {{id: string, addr: string, rank: string | null, series: Series}} Line
 */

import { readTable } from '../data/slices.js';
import { el, fill } from '../dom.js';
import { momentText } from '../compute/clock.js';
import { ENGINES, chooseWidth, intervalOf, readLevel, seriesOf } from '../compute/samples.js';
import { orderedMetrics } from '../compute/state.js';
import { isWhole, kept, readWindow, windowText } from '../compute/window.js';
import { createCopyAs } from '../ui/copyas.js';
import { failure } from '../ui/failure.js';
import { createSegmented } from '../ui/segmented.js';
import { createTooltip, tooltipRows } from '../ui/tooltip.js';
import { value as written } from '../format.js';
import { drawEngines } from './engineplot.js';
import { matcher } from './series.js';

const HEIGHT = 118;
const APART = ' ';

/**
 * @param {HTMLElement} host holds what the build drew
 * @param {Context} context
 * @returns {() => void}
 */
export function mountEngines(host, context) {
  let isOver = false;
  /** @type {() => void} */
  let dispose = () => {};
  const read = async () => {
    const catalog = await context.catalog();
    const [metrics, topology] = await Promise.all(['engine_metrics', 'topology'].map(table => readTable(context, catalog, table)));
    const names = Array.from(metrics.columns.metric ?? []);
    if (!isOver && names.length) dispose = show(host, context, catalog, names, Array.from(topology.columns.addr ?? []));
  };
  read().catch(error => {
    context.log.warn('The engine metrics cannot be read.', error);
    if (!isOver) host.prepend(failure(error, { what: 'The charts of the engines', retry: () => location.reload() }));
  });
  return () => {
    isOver = true;
    dispose();
  };
}

/**
 * @param {{get: (name: string) => string | null}} url
 * @param {Span} whole
 * @returns {State}
 */
export function readEngines(url, whole) {
  return {
    span: readWindow(url.get('t'), whole), split: url.get('dp') === '1',
    hidden: (url.get('off') ?? '').split(APART).filter(Boolean), filter: url.get('filter') ?? '',
  };
}

/**
 * @param {State} state
 * @param {Span} whole
 * @returns {Record<string, string | null>} for the address; null for what is as usual
 */
export function writeEngines({ span, split, hidden }, whole) {
  return { t: windowText(span, whole), dp: split ? '1' : null, off: hidden.length ? hidden.join(APART) : null };
}

/**
 * @param {HTMLElement} host
 * @param {Context} context
 * @param {Catalog} catalog
 * @param {string[]} names of the table, in its order
 * @param {string[]} known addresses
 * @returns {() => void}
 */
function show(host, context, catalog, names, known) {
  /** @type {Span} */
  const whole = context.page.engines.span;
  let state = readEngines(context.url, whole);
  let engines = [...new Set(known)];
  const tooltip = createTooltip();
  const legend = el('div', { class: 'engine-legend', role: 'group', 'aria-label': 'Engines' });
  const split = createSegmented('Lines', [['', 'By engine'], ['1', 'By dp rank']], value => change({ split: value === '1' }));
  const reset = el('button', { class: 'button', type: 'button', onClick: () => change({ span: whole }) }, 'Reset zoom');
  const cards = orderedMetrics(names).map(createCard);
  const grid = el('div', { class: 'metric-grid' });
  host.replaceChildren(
    el('div', { class: 'toolbar', role: 'group', 'aria-label': 'Engine charts' }, split.node, reset, el('span', { class: 'muted' }, 'over elapsed time; drag to zoom, double click to reset')),
    legend, grid);

  const observer = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const card = cards.find(one => one.node === entry.target);
      if (card) card.see(entry.isIntersecting);
    }
  }, { rootMargin: '150px' });
  cards.forEach(card => observer.observe(card.node));
  const off = context.url.onChange(() => {
    const next = readEngines(context.url, whole);
    if (JSON.stringify(next) === JSON.stringify(state)) return;
    state = next;
    render();
  });
  render();

  /** @param {Partial<State>} part */
  function change(part) {
    state = { ...state, ...part };
    context.url.set(writeEngines(state, whole));
    render();
  }

  function render() {
    split.show(state.split ? '1' : '');
    reset.hidden = isWhole(state.span, whole);
    showLegend();
    const matches = matcher(state.filter);
    const shown = cards.filter(card => matches(card.metric, ''));
    fill(grid, shown.map(card => card.node), shown.length ? null : el('p', { class: 'muted' }, 'No engine metric has the words of the filter.'));
    shown.forEach(card => card.draw());
  }

  function showLegend() {
    fill(legend, engines.map((addr, i) => {
      const box = el('input', { type: 'checkbox', onChange: () => change({ hidden: box.checked ? state.hidden.filter(one => one !== addr) : [...state.hidden, addr] }) });
      box.checked = !state.hidden.includes(addr);
      return el('label', { class: 'check' }, box, el('i', { class: `engine-key e${i % 8}` }), addr.replace(/^https?:\/\//, ''));
    }));
  }

  /** @param {string} metric */
  function createCard(metric) {
    const plot = el('div', { class: 'metric-plot-box engine-plot' });
    const newest = el('b', null);
    const copy = createCopyAs(context.page.engines.copy, context, () => ({ metric }), metric).button;
    const node = el('article', { class: 'metric-card', 'aria-label': metric, data: { key: metric } },
      el('p', { class: 'metric-head' }, el('span', { class: 'metric-key mono', title: metric }, metric), copy, el('span', { class: 'metric-value' }, newest)), plot);
    let isSeen = false;
    let drawn = '';
    let asked = 0;
    const draw = () => {
      const key = JSON.stringify(state) + plot.clientWidth;
      if (!isSeen || drawn === key) return;
      drawn = key;
      const mine = ++asked;
      readLines(context, catalog, { metric, place: names.indexOf(metric), state, width: plot.clientWidth || 320 }).then(
        lines => {
          if (mine !== asked) return;
          const fresh = lines.map(line => line.addr).filter(addr => !engines.includes(addr));
          if (fresh.length) {
            engines = [...engines, ...new Set(fresh)];
            showLegend();
          }
          paint(lines);
        },
        error => {
          drawn = '';
          if (mine === asked) fill(plot, failure(error, { what: metric, retry: draw }));
        });
    };
    /** @param {Line[]} lines */
    const paint = lines => {
      const shown = lines.filter(line => !state.hidden.includes(line.addr));
      const made = drawEngines(shown, { span: state.span, zero: whole[0], width: Math.max(160, plot.clientWidth), height: HEIGHT, colourOf: line => engines.indexOf(line.addr) % 8 });
      fill(plot, made.node);
      newest.textContent = made.newest;
      made.mount({
        onZoom: span => change({ span: kept(span, whole) }),
        onClear: () => change({ span: whole }),
        onPoint(time, values, event) {
          tooltip.show({ left: event.clientX, top: event.clientY }, el('b', null, metric), el('div', { class: 'muted' }, momentText(time, whole[0])),
            tooltipRows(values.map(({ line, value }) => ({ label: nameOf(line), value: value === null ? 'no data' : written(value, 'number') }))));
        },
        onLeave: () => tooltip.hide(),
      });
    };
    return {
      node, metric, draw,
      /** @param {boolean} now */
      see(now) {
        isSeen = now;
        draw();
      },
    };
  }

  return () => {
    off();
    observer.disconnect();
    tooltip.dispose();
  };
}

/**
 * @param {Line} line
 * @returns {string}
 */
function nameOf({ addr, rank }) {
  return addr.replace(/^https?:\/\//, '') + (rank === null ? '' : ` dp ${rank}`);
}

/**
 * @param {Context} context
 * @param {Catalog} catalog
 * @param {{metric: string, place: number, state: State, width: number}} wanted place: of the metric in its table
 * @returns {Promise<Line[]>} by address and dp rank; an engine that labels no ranks is one line either way
 */
async function readLines(context, catalog, { metric, place, state, width }) {
  const slices = catalog.slices(ENGINES.raw).filter(slice => !slice.keys.metric || slice.keys.metric[0] === place);
  if (!slices.length) return [];
  const level = chooseWidth(catalog, ENGINES, state.span, width, intervalOf(slices, 1));
  const frame = await readLevel(context, catalog, ENGINES, { width: level, span: state.span, keys: [place] });
  const { metric: named, dp_rank: rank, addr } = frame.columns;
  const ids = (/** @type {number} */ row) => JSON.stringify([addr[row], rank[row]]);
  const isMine = (/** @type {number} */ row) => named[row] === metric || named[row] === place;
  const found = [...seriesOf(frame, ['value'], level, row => (isMine(row) ? ids(row) : null))]
    .map(([id, series]) => ({ id, addr: JSON.parse(id)[0], rank: JSON.parse(id)[1], series }));
  return chosenLines(found, state.split);
}

/**
 * @template {{addr: string, rank: string | null}} L
 * @param {L[]} lines of engines as a whole (rank null) and of their dp ranks
 * @param {boolean} split whether dp ranks stand apart where there are any
 * @returns {L[]}
 */
export function chosenLines(lines, split) {
  const ranked = new Set(lines.filter(line => line.rank !== null).map(line => line.addr));
  const chosen = lines.filter(line => (split && ranked.has(line.addr) ? line.rank !== null : line.rank === null));
  return chosen.sort((a, b) => (a.addr < b.addr ? -1 : a.addr > b.addr ? 1 : Number(a.rank) - Number(b.rank)));
}
