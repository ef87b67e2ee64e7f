import { el, fill, on } from '../dom.js';
import { count, value } from '../format.js';
import { TABLES } from '../schema.js';
import { clickSort, sortRows, sortToText, textToSort } from '../step/sort.js';
import { csv, download } from '../ui/download.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('../types').Frame} Frame */

const BARS = ['reward_mean', 'mean_abs_lp_diff'];
/** The other columns of the table, in the order of the page. */
const COLUMNS = ['n_samples', 'n_trained', 'reward_mean', 'reward_std', 'response_length_mean', 'truncated_frac', 'zero_std_group_frac',
  'mixed_version_frac', 'mean_entropy', 'mean_abs_lp_diff'];

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
  const names = ['step', ...COLUMNS];
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
    fill(body, rows.map(row => line(frame, row, context)));
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
 * @param {Context} context
 * @returns {HTMLTableRowElement}
 */
function line(frame, row, context) {
  const step = frame.columns.step[row];
  const state = frame.columns.state[row];
  const link = el('td', { class: 'num' }, el('a', { href: context.href(`rollouts/step-${step}.html`) }, String(step)));
  if (state !== 'ok') {
    const broken = state === 'broken';
    const why = broken ? 'This step cannot be read' : 'This step is still being written';
    return el('tr', null, link, el('td', null, el('span', { class: `status ${broken ? 'critical' : 'info'}`, title: why }, broken ? 'broken' : 'being written')),
      COLUMNS.slice(1).map(() => el('td', { class: 'num' }, el('span', { class: 'null', title: why }, '–'))));
  }
  return el('tr', null, link, COLUMNS.map(name => el('td', { class: 'num' }, cell(frame, row, name))));
}

/**
 * @param {Frame} frame
 * @param {number} row
 * @param {string} name
 * @returns {import('../dom.js').Child}
 */
function cell(frame, row, name) {
  const column = TABLES.steps.columns.find(one => one.name === name);
  const content = frame.columns[name][row];
  if (content === null) return el('span', { class: 'null', title: column?.null || 'not recorded' }, '–');
  const text = value(content, name === 'response_length_mean' ? 'count' : column?.form);
  if (!BARS.includes(name)) return text;
  let largest = 0;
  for (let i = 0; i < frame.length; i++) {
    const size = Math.abs(frame.columns[name][i] ?? 0);
    if (Number.isFinite(size)) largest = Math.max(largest, size);
  }
  const part = largest > 0 && Number.isFinite(content) ? Math.abs(content) / largest : 0;
  return el('span', { class: 'bar-cell' }, el('span', { class: 'bar' }, el('i', { style: { width: `${part * 100}%` } })), el('span', { class: 'bar-number' }, text));
}
