/**
 * The Samples tab: one chain from filter to picture to selection to table, all of it in the link.
 */

import { el, fill } from '../dom.js';
import { count, plural } from '../format.js';
import { copyLink, csv, download } from '../ui/download.js';
import { createSelect } from '../ui/menu.js';
import { createFilterBox, exampleFilters } from './box.js';
import { createChooser } from './chooser.js';
import { rangeText, sampleHref, stepColumns } from './columns.js';
import { needsText, parseFilter } from './filter.js';
import { matchingRows } from './match.js';
import { createPanel } from './panel.js';
import { inRange, numbersOf } from './plot.js';
import { createRows } from './rows.js';
import { createScatter } from './scatter.js';
import { clickSort, sortRows } from './sort.js';
import { searchTexts } from './texts.js';

/** @typedef {import('../types').Catalog} Catalog */
/** @typedef {import('../types').Context} Context */
/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('./state.js').StepState} StepState */

/**
 * @param {{filter: HTMLElement, picture: HTMLElement, head: HTMLElement, table: HTMLElement}} parts of the page, filled
 * @param {{context: Context, catalog: Catalog, frame: Frame, set: (changes: Partial<StepState>) => void}} given
 * @returns {{update: (state: StepState) => void, focusFilter: () => void, dispose: () => void}}
 */
export function mountSamples(parts, { context, catalog, frame, set }) {
  const { step, evaluation } = context.page;
  const columns = stepColumns(frame);
  const byName = new Map(columns.map(column => [column.name, column]));
  const filterable = columns.map(({ name, type }) => ({ name, type }));
  const address = (/** @type {number} */ row) => context.href(sampleHref(step, frame.columns.row[row], evaluation));
  const open = (/** @type {number} */ row) => { location.href = address(row); };
  /** @type {StepState} */
  let state;
  /** @type {number[]} */
  let shown = [];
  /** @type {string[] | null} */
  let texts = null;
  let reading = false;

  const box = createFilterBox({
    parse: text => parseFilter(text, filterable),
    examples: exampleFilters(columns, name => Array.prototype.some.call(frame.columns[name], cell => cell === true)),
    onChange: filter => set({ filter }),
    placeholder: 'reward_value < 0.5 status:aborted truncated text:"…"',
  });
  const numeric = columns.filter(column => column.type !== 'text' && column.recorded);
  const axisOptions = numeric.map(column => ({ value: column.name, label: column.name, group: column.group }));
  const colourOptions = [{ value: '', label: 'none' }, ...columns.filter(column => column.recorded)
    .map(column => ({ value: column.name, label: column.name, group: column.group }))];
  const selects = {
    y: createSelect({ label: 'y', options: axisOptions, value: '', onChange: y => set({ y, yRange: null }) }),
    x: createSelect({ label: 'x', options: axisOptions, value: '', onChange: x => set({ x, xRange: null }) }),
    colour: createSelect({ label: 'colour', options: colourOptions, value: '', onChange: colour => set({ colour }) }),
  };
  const scatter = createScatter(frame, columns, { onBrush: (xRange, yRange) => set({ xRange, yRange }), onOpen: open });
  const panel = createPanel(frame, columns);
  const rows = createRows(frame, {
    address,
    onSort: (column, add) => set({ sort: clickSort(state.sort, column, { add, descendingFirst: byName.get(column)?.type !== 'text' }) }),
    onOrder: names => set({ columns: names }),
    onPin: row => set({ pins: state.pins.includes(row) ? state.pins.filter(one => one !== row) : [...state.pins, row] }),
    onOpen: (row, event) => {
      if (event instanceof KeyboardEvent || /** @type {HTMLElement} */ (event.target).closest('td')) open(row);
    },
  });
  const chooser = createChooser({ columns, defaults: context.page.columns, chosen: () => state?.columns ?? context.page.columns, onChange: names => set({ columns: names }) });
  const heading = el('h3');
  const chips = el('div', { class: 'step-chips' });
  const foot = el('p', { class: 'note step-foot' });
  const failed = el('div');
  const name = `${evaluation ? 'eval' : 'step'}-${step}-samples`;
  const slice = catalog.slices('samples')[0];

  fill(parts.filter, box.node, box.examples,
    el('button', { class: 'button', type: 'button', title: 'The rows and columns of the table', onClick: () => download(`${name}.csv`, csv(frame, state.columns, shown)) }, 'CSV'),
    slice ? el('a', { class: 'button', href: context.href(slice.path), download: `${name}.parquet`, title: 'All rows and columns of this step' }, 'Parquet') : null,
    el('button', { class: 'button', type: 'button', title: 'Copy a link to this view', onClick: () => copyLink() }, 'Link'));
  fill(parts.picture,
    el('div', { class: 'step-picture-left' },
      el('div', { class: 'toolbar' }, selects.y.node, selects.x.node, selects.colour.node, el('span', { class: 'spring' }),
        el('span', { class: 'muted step-hint' }, 'Drag to select; the table follows. Double click clears.')),
      scatter.node),
    panel.node);
  fill(parts.head, heading, chips, el('span', { class: 'spring' }), chooser.node);
  fill(parts.table, failed, rows.node, foot);

  const readTexts = () => {
    if (reading) return;
    reading = true;
    fill(failed);
    searchTexts(context, catalog, frame.columns.row, (part, total) => box.tell(0, 0, `reading texts, ${part} of ${total}`)).then(
      found => { texts = found; },
      error => fill(failed, el('p', { class: 'field-error' }, `Texts cannot be searched: ${error.message}`)),
    ).finally(() => {
      reading = false;
      if (texts) update(state);
      else box.tell(0, frame.length, 'texts not read');
    });
  };

  /** @param {StepState} next */
  function update(next) {
    state = next;
    box.set(state.filter);
    const parsed = parseFilter(state.filter, filterable);
    const waiting = needsText(parsed.terms) && !texts;
    if (waiting) readTexts();
    const filtered = waiting ? matchingRows(parsed.terms.filter(term => term.kind !== 'text'), frame, null) : matchingRows(parsed.terms, frame, texts);
    const xs = numbersOf(frame, state.x);
    const ys = numbersOf(frame, state.y);
    const brushed = Boolean(state.xRange || state.yRange);
    const selected = filtered.filter(row => inRange(xs, state.xRange, row) && inRange(ys, state.yRange, row));
    const sorted = sortRows(selected, frame, state.sort);
    const pinned = state.pins.filter(row => row >= 0 && row < frame.length);
    shown = [...pinned, ...sorted.filter(row => !pinned.includes(row))];
    if (!waiting) box.tell(filtered.length, frame.length);
    selects.x.set(state.x);
    selects.y.set(state.y);
    selects.colour.set(state.colour);
    const column = (/** @type {string} */ wanted) => /** @type {import('./columns.js').StepColumn} */ (byName.get(wanted));
    scatter.update({ x: column(state.x), y: column(state.y), colour: byName.get(state.colour) ?? null, xRange: state.xRange, yRange: state.yRange, filtered: new Set(filtered) });
    panel.update(selected, selected.length < frame.length);
    chooser.show();
    fill(heading, plural(selected.length, 'sample'));
    fill(chips, words(filtered.length, brushed), state.xRange ? chip(`${state.x} ${rangeText(state.xRange)}`, () => set({ xRange: null })) : null,
      state.yRange ? chip(`${state.y} ${rangeText(state.yRange)}`, () => set({ yRange: null })) : null,
      pinned.map(row => chip(`pinned: row ${frame.columns.row[row]}`, () => set({ pins: state.pins.filter(one => one !== row) }))));
    rows.update({ columns: state.columns.map(column), rows: shown, sort: state.sort, pins: pinned });
    fill(foot, selected.length
      ? `${plural(shown.length, 'row')}. ↑ ↓ move, Enter opens, Space pins for comparison, / goes to the filter. A header sorts, with Shift by a further column. Null is an en dash; hover it for the reason.`
      : 'No sample passes. Clear the filter or the selection to see all.');
  }

  /** @param {number} filtered @param {boolean} brushed */
  function words(filtered, brushed) {
    if (brushed && filtered < frame.length) return el('span', { class: 'note' }, `selected in the chart, within ${count(filtered)} filtered`);
    if (brushed) return el('span', { class: 'note' }, 'selected in the chart');
    return filtered < frame.length ? el('span', { class: 'note' }, `of ${count(frame.length)} pass the filter`) : null;
  }

  return {
    update,
    focusFilter: box.focus,
    dispose() {
      box.dispose();
      Object.values(selects).forEach(select => select.dispose());
      scatter.dispose();
      rows.dispose();
      chooser.dispose();
    },
  };
}

/** @param {string} text @param {() => void} remove @returns {HTMLElement} */
function chip(text, remove) {
  return el('span', { class: 'chip' }, text, el('button', { type: 'button', 'aria-label': `Remove ${text}`, onClick: remove }, '✕'));
}
