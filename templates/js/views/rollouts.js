import { el, fill, on } from '../dom.js';
import { count, value } from '../format.js';
import { TABLES } from '../schema.js';
import { clickSort, sortRows, sortToText, textToSort } from '../step/sort.js';
import { csv, download } from '../ui/download.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('../types').Frame} Frame */

const BARS = ['reward_mean', 'mean_abs_lp_diff'];
/** What the page sends beside the columns of its table. */
const KEYS = ['step', 'state'];

/**
 * The list of steps: every step, sorted by any column; a row leads to its samples.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  const table = root.querySelector('[data-part="steps"] table');
  if (!table) return () => {};
  const frame = stepsFrame(context.page.steps);
  const head = /** @type {HTMLTableRowElement} */ (table.querySelector('thead tr:last-child'));
  const body = /** @type {HTMLElement} */ (table.querySelector('tbody'));
  const columns = frame.names.filter(name => !KEYS.includes(name));
  const names = ['step', ...columns];
  const largest = Object.fromEntries(BARS.map(name => [name, largestSize(frame.columns[name])]));
  [...head.children].forEach((cell, i) => {
    const button = el('button', { type: 'button', onClick: (/** @type {MouseEvent} */ event) => {
      const keys = clickSort(textToSort(context.url.get('sort', '')), names[i], { add: event.shiftKey, descendingFirst: names[i] !== 'step' });
      context.url.set({ sort: sortToText(keys) || null }, { push: true });
    } }, cell.textContent);
    fill(cell, button);
  });
  const draw = () => {
    const keys = textToSort(context.url.get('sort', '')).filter(key => names.includes(key.column));
    [...head.children].forEach((cell, i) => {
      const key = keys[0]?.column === names[i] ? keys[0] : null;
      if (key) cell.setAttribute('aria-sort', key.descending ? 'descending' : 'ascending');
      else cell.removeAttribute('aria-sort');
    });
    const rows = sortRows(Array.from({ length: frame.length }, (_, row) => row), frame, keys);
    fill(body, rows.map(row => line(frame, row, columns, largest, context)));
  };
  const note = root.querySelector('.section-head .note');
  if (note) {
    note.textContent = `${count(frame.length)} in all; a row leads to its samples, a header sorts.`;
    note.after(el('p', { class: 'more' }, el('button', { type: 'button', class: 'button', onClick: () => download('steps.csv', csv(frame)) }, 'CSV')));
  }
  draw();
  const offs = [
    context.url.onChange(draw),
    on(body, 'click', event => {
      const link = /** @type {HTMLAnchorElement | null | undefined} */ (event.target.closest('tr')?.querySelector('a'));
      if (link && !event.target.closest('a') && !getSelection()?.toString()) link.click();
    }),
  ];
  return () => offs.forEach(off => off());
}

/**
 * @param {Record<string, any[]>} columns not finite numbers as strings
 * @returns {Frame}
 */
function stepsFrame(columns) {
  const numbers = Object.entries(columns).map(([name, cells]) => [name, name === 'state' ? cells : cells.map(cell => (typeof cell === 'string' ? Number(cell) : cell))]);
  return { length: columns.step.length, names: Object.keys(columns), columns: Object.fromEntries(numbers) };
}

/**
 * @param {Frame} frame
 * @param {number} row
 * @param {string[]} columns of the table, behind the step
 * @param {Record<string, number>} largest size in each column with bars
 * @param {Context} context
 * @returns {HTMLTableRowElement}
 */
function line(frame, row, columns, largest, context) {
  const step = frame.columns.step[row];
  const state = frame.columns.state[row];
  const link = el('td', { class: 'num' }, el('a', { href: context.href(`rollouts/step-${step}.html`) }, String(step)));
  if (state !== 'ok') {
    const broken = state === 'broken';
    const why = broken ? 'This step cannot be read' : 'This step is still being written';
    return el('tr', null, link, el('td', null, el('span', { class: `status ${broken ? 'critical' : 'info'}`, title: why }, broken ? 'broken' : 'being written')),
      columns.slice(1).map(() => el('td', { class: 'num' }, el('span', { class: 'null', title: why }, '–'))));
  }
  return el('tr', null, link, columns.map(name => el('td', { class: 'num' }, cell(frame, row, name, largest[name]))));
}

/**
 * @param {Frame} frame
 * @param {number} row
 * @param {string} name
 * @param {number | undefined} largest size in the column, if it has bars
 * @returns {import('../dom.js').Child}
 */
function cell(frame, row, name, largest) {
  const column = TABLES.steps.columns.find(one => one.name === name);
  const content = frame.columns[name][row];
  if (content === null) return el('span', { class: 'null', title: column?.null || 'not recorded' }, '–');
  const text = value(content, column?.form);
  if (largest === undefined) return text;
  const part = largest > 0 && Number.isFinite(content) ? Math.abs(content) / largest : 0;
  return el('span', { class: 'bar-cell' }, el('span', { class: 'bar' }, el('i', { style: { width: `${part * 100}%` } })), el('span', { class: 'bar-number' }, text));
}

/**
 * @param {ArrayLike<number | null>} cells
 * @returns {number} the largest finite size; 0 without one
 */
function largestSize(cells) {
  return Array.from(cells, size => Math.abs(size ?? 0)).filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
}
