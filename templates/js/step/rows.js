/**
 * The table of samples: cells, bars, headers that sort and can be dragged.
 */

import { el, on } from '../dom.js';
import { createTable } from '../ui/table.js';
import { cellText, columnTitle } from './columns.js';

/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('./columns.js').StepColumn} StepColumn */
/** @typedef {import('./sort.js').SortKey} SortKey */

/**
 * @typedef {object} RowsState
 * @property {StepColumn[]} columns
 * @property {number[]} rows frame rows, in the order shown
 * @property {SortKey[]} sort
 * @property {number[]} pins frame rows
 */

const HEIGHT = 734;
/** Characters from which on words are cut, whole on hover. */
const LONG = 28;
const ALWAYS_BARS = ['adv_mean'];

/**
 * @param {Frame} frame
 * @param {{address: (row: number) => string, onSort: (column: string, add: boolean) => void, onOrder: (names: string[]) => void, onPin: (row: number) => void, onOpen: (row: number, event: Event) => void}} events
 * @returns {{node: HTMLElement, update: (state: RowsState) => void, reveal: (row: number) => void, dispose: () => void}}
 */
export function createRows(frame, { address, onSort, onOrder, onPin, onOpen }) {
  /** @type {RowsState} */
  let state = { columns: [], rows: [], sort: [], pins: [] };
  let shift = false;
  const table = createTable({
    label: 'Samples',
    height: HEIGHT,
    state: { columns: [], length: 0, sort: null },
    onSort: name => onSort(name, shift),
    onOpen: (row, event) => onOpen(state.rows[row], event),
    onPin: row => onPin(state.rows[row]),
  });
  table.node.classList.add('step-rows');
  const head = /** @type {HTMLElement} */ (table.node.querySelector('thead'));
  const decorate = () => [...head.querySelectorAll('th')].forEach((cell, i) => {
    cell.draggable = true;
    cell.dataset.name = state.columns[i]?.name ?? '';
  });
  // The table draws its head again whenever its width changes.
  const watcher = new MutationObserver(decorate);
  watcher.observe(head, { childList: true });
  let dragged = '';
  const header = (/** @type {Event} */ event) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest?.('th'));
  const nameOf = (/** @type {HTMLElement | null} */ cell) => cell?.dataset.name ?? '';
  const offs = [
    on(table.node, 'click', event => { shift = event.shiftKey; }, { capture: true }),
    on(table.node, 'dragstart', event => {
      dragged = nameOf(header(event));
      event.dataTransfer?.setData('text/plain', dragged);
    }),
    on(table.node, 'dragover', event => {
      if (dragged && header(event)) event.preventDefault();
    }),
    on(table.node, 'drop', event => {
      const onto = nameOf(header(event));
      if (!dragged || !onto || dragged === onto) return;
      event.preventDefault();
      onOrder(moved(state.columns.map(column => column.name), dragged, onto));
    }),
    on(table.node, 'dragend', () => { dragged = ''; }),
  ];
  return {
    node: table.node,
    update(next) {
      state = next;
      const bars = barScales(frame, state);
      const pinned = new Set(state.pins);
      table.update({
        length: state.rows.length,
        sort: state.sort[0] ? { name: state.sort[0].column, descending: state.sort[0].descending } : null,
        selected: row => pinned.has(state.rows[row]),
        columns: state.columns.map(column => ({
          name: column.name,
          label: headerLabel(column, state.sort),
          numeric: column.type === 'number',
          title: `${column.name}: ${column.doc}`,
          cell: row => cell(column, state.rows[row], bars.get(column.name)),
        })),
      });
      decorate();
    },
    reveal: row => {
      const at = state.rows.indexOf(row);
      if (at >= 0) table.reveal(at);
    },
    dispose() {
      watcher.disconnect();
      offs.forEach(off => off());
      table.dispose();
    },
  };

  /**
   * @param {StepColumn} column
   * @param {number} row
   * @param {BarScale | undefined} bar
   * @returns {import('../dom.js').Child}
   */
  function cell(column, row, bar) {
    const content = frame.columns[column.name][row];
    const text = cellText(column, content, frame, row);
    if (content === null || content === undefined) return el('span', { class: 'null', title: column.nullReason }, text);
    if (column.name === 'sample_index' || (column.name === 'row' && frame.columns.sample_index?.[row] === null)) {
      return el('a', { href: address(row), tabindex: -1 }, text);
    }
    if (!bar) return text.length > LONG ? el('span', { class: 'step-words', title: text }, text) : text;
    return el('span', { class: 'bar-cell' }, drawBar(content, bar), el('span', { class: 'bar-number' }, text));
  }
}

/**
 * @param {StepColumn} column
 * @param {SortKey[]} sort
 * @returns {import('../dom.js').Child}
 */
function headerLabel(column, sort) {
  const at = sort.findIndex(key => key.column === column.name);
  if (at < 1) return columnTitle(column);
  const second = sort[at];
  return el('span', null, columnTitle(column), el('span', { class: 'step-key-order' }, ` ${second.descending ? '▾' : '▴'}${at + 1}`));
}

/** @typedef {{largest: number, diverging: boolean}} BarScale */

/**
 * Columns whose numbers carry a bar: advantages, and the number that the table is sorted by.
 *
 * @param {Frame} frame
 * @param {RowsState} state
 * @returns {Map<string, BarScale>}
 */
function barScales(frame, { columns, sort }) {
  const wanted = new Set([...ALWAYS_BARS, ...sort.slice(0, 1).map(key => key.column)]);
  /** @type {Map<string, BarScale>} */
  const scales = new Map();
  for (const column of columns) {
    if (!wanted.has(column.name) || column.type !== 'number' || column.form === 'id') continue;
    let largest = 0;
    let negative = false;
    const cells = frame.columns[column.name];
    for (let row = 0; row < frame.length; row++) {
      if (cells[row] === null || !Number.isFinite(cells[row])) continue;
      largest = Math.max(largest, Math.abs(cells[row]));
      negative ||= cells[row] < 0;
    }
    if (largest > 0) scales.set(column.name, { largest, diverging: negative });
  }
  return scales;
}

/**
 * @param {number} value
 * @param {BarScale} scale
 * @returns {HTMLElement}
 */
function drawBar(value, { largest, diverging }) {
  const part = Number.isFinite(value) ? Math.abs(value) / largest : 0;
  if (!diverging) return el('span', { class: 'bar' }, el('i', { style: { width: `${part * 100}%` } }));
  const width = part * 50;
  const negative = value < 0;
  return el('span', { class: 'bar diverging' }, el('i', {
    class: negative ? 'negative' : 'positive', style: { left: `${negative ? 50 - width : 50}%`, width: `${width}%` },
  }));
}

/**
 * @param {string[]} names
 * @param {string} name
 * @param {string} onto where it goes; the one there makes room
 * @returns {string[]}
 */
export function moved(names, name, onto) {
  const from = names.indexOf(name);
  const to = names.indexOf(onto);
  if (from < 0 || to < 0) return names;
  const rest = names.filter(one => one !== name);
  rest.splice(to, 0, name);
  return rest;
}
