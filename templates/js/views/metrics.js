import { readTable } from '../data/slices.js';
import { el } from '../dom.js';
import { BUFFER, BUFFER_AXIS, createBoard } from '../metrics/board.js';
import { mountEngines } from '../metrics/engines.js';
import { faultsOf } from '../metrics/faults.js';
import { groupSeries, seriesId } from '../metrics/series.js';
import { readState, toggled, writePins, writeState } from '../metrics/state.js';
import { createToolbar } from '../metrics/toolbar.js';
import { createCopyAs } from '../ui/copyas.js';
import { csv, download } from '../ui/download.js';
import { failure } from '../ui/failure.js';

/**
 * @typedef {import('../types').Context} Context
 * @typedef {import('../metrics/series.js').Series} Series
 */

/** The queue between rollout and training. @type {[string, string, string]} */
const BUFFER_WORDS = ['samples queued between rollout and training', 'samples', 'count'];
const COLUMNS = ['ts', 'attempt', 'step_key', 'step', 'key', 'value', 'text'];

/**
 * Every metric as a chart. Until the data are there, and where they cannot be had, the drawn charts
 * and the table of all keys stay.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  const host = root.querySelector('[data-metrics]');
  if (!(host instanceof HTMLElement)) return () => {};
  const engines = root.querySelector('[data-engines]');
  const offEngines = engines instanceof HTMLElement ? mountEngines(engines, context) : () => {};
  let isOver = false;
  /** @type {() => void} */
  let dispose = () => {};
  read(context).then(
    ({ all, faults }) => {
      if (!isOver && all.length) dispose = show(host, context, all, faults);
    },
    error => {
      context.log.warn('The metrics cannot be read.', error);
      if (!isOver) host.prepend(failure(error, { what: 'Zoom and the charts of all keys', retry: () => location.reload() }));
    });
  return () => {
    isOver = true;
    dispose();
    offEngines();
  };
}

/**
 * @param {Context} context
 * @returns {Promise<{all: Series[], faults: import('../metrics/faults.js').Fault[]}>} with the data buffer as the last, if it was reported
 */
async function read(context) {
  const catalog = await context.catalog();
  const [metrics, buffer, incidents] = await Promise.all([
    readTable(context, catalog, 'metrics', { columns: COLUMNS }),
    readTable(context, catalog, 'data_buffer', { columns: ['ts', 'length'] }),
    readTable(context, catalog, 'incidents'),
  ]);
  const all = metrics.length ? groupSeries(metrics, context.page.plain_axes) : [];
  return { all: buffer.length ? [...all, bufferSeries(buffer)] : all, faults: faultsOf(incidents) };
}

/**
 * @param {import('../types').Frame} frame
 * @returns {Series}
 */
function bufferSeries({ columns, length }) {
  const values = Array.from(columns.length, Number);
  const none = () => new Array(length).fill(null);
  return {
    id: seriesId(BUFFER_AXIS, BUFFER), key: BUFFER, stepKey: BUFFER_AXIS, category: BUFFER,
    steps: none(), times: Array.from(columns.ts), attempts: new Array(length).fill(0), values, texts: none(),
    gaps: 0, isText: false, isConstant: values.length > 1 && values.every(value => value === values[0]), last: values[length - 1], lastText: null,
  };
}

/**
 * @param {HTMLElement} host
 * @param {Context} context
 * @param {Series[]} all
 * @param {import('../metrics/faults.js').Fault[]} faults
 * @returns {() => void}
 */
function show(host, context, all, faults) {
  const { words, order, pins, start } = context.page;
  const memory = `miles-report-pins:${location.pathname}`;
  let state = readState(context.url, recall(memory));
  const defaults = pins.map((/** @type {[string, string]} */ [stepKey, key]) => seriesId(stepKey, key));
  const nav = el('ul');
  const body = el('div', { class: 'metric-body' });
  const change = (/** @type {Partial<typeof state>} */ part) => {
    state = { ...state, ...part };
    context.url.set(writeState(state));
    toolbar.show(state);
    board.render(state);
  };
  const board = createBoard({ nav, body }, all, {
    words: { ...words, [BUFFER]: BUFFER_WORDS },
    order, start: start ?? 0, pins: defaults, faults, engines: context.page.engines?.n ?? 0,
    copyAs: series => copyButton(series, context),
    onPin(id) {
      const next = toggled(state.pins ?? defaults, id);
      remember(memory, writePins(next));
      change({ pins: next });
    },
    onZoom: zoom => change({ zoom }),
  });
  const toolbar = createToolbar({ state, hasFaults: faults.length > 0, onChange: change, onCsv: () => download('metrics.csv', metricsCsv(board.shown())) });
  host.replaceChildren(toolbar.node, el('div', { class: 'metric-columns' }, el('nav', { class: 'metric-nav', 'aria-label': 'Categories' }, nav), body));
  board.render(state);
  const off = context.url.onChange(() => {
    const next = readState(context.url, recall(memory));
    if (JSON.stringify(writeState(next)) === JSON.stringify(writeState(state))) return;
    state = next;
    toolbar.show(state);
    board.render(state);
  });
  return () => {
    off();
    toolbar.dispose();
    board.dispose();
  };
}

/**
 * @param {Series} series
 * @param {Context} context
 * @returns {HTMLElement}
 */
function copyButton({ key, stepKey }, context) {
  const { axis, no_axis: noAxis, buffer } = context.page.copies;
  const recipe = stepKey === BUFFER_AXIS ? buffer : stepKey ? axis : noAxis;
  return createCopyAs(recipe, context, () => ({ key, step_key: stepKey }), key).button;
}

/**
 * @param {Series[]} shown
 * @returns {string} every logged value, as logged
 */
function metricsCsv(shown) {
  const names = ['key', 'step_key', 'step', 'ts', 'attempt', 'value', 'text'];
  /** @type {Record<string, any[]>} */
  const columns = Object.fromEntries(names.map(name => [name, []]));
  for (const { key, stepKey, steps, times, attempts, values, texts } of shown) {
    values.forEach((value, i) => {
      [key, stepKey, steps[i], times[i], attempts[i], value, texts[i]].forEach((cell, at) => columns[names[at]].push(cell));
    });
  }
  return csv({ length: columns.key.length, names, columns });
}

/**
 * @param {string} name
 * @returns {string | null} null also where the browser keeps nothing
 */
function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // the address still holds it
  }
}
