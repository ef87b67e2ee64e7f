/**
 * The panel beside the scatter: how the samples chosen differ from all of them.
 */

import { el, fill } from '../dom.js';
import { count, plural, signed, value } from '../format.js';
import { columnTitle, meanText } from './columns.js';
import { compareSelection } from './compare.js';

/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('./columns.js').StepColumn} StepColumn */

const NAMES = ['mean_abs_lp_diff', 'mixed_version', 'tool_calls', 'non_generation_time', 'staleness', 'response_length', 'reward_value',
  'truncated', 'mean_entropy', 'adv_mean', 'turns'];
const ROWS = 9;
const FULL = 2;
const STRONG = 0.5;

/**
 * @param {Frame} frame
 * @param {StepColumn[]} columns
 * @returns {{node: HTMLElement, update: (rows: number[], narrowed: boolean) => void}} narrowed: whether a filter or brush chose the rows
 */
export function createPanel(frame, columns) {
  const node = el('aside', { class: 'step-panel', 'aria-label': 'The selection beside all samples' });
  const shown = columns.filter(column => column.recorded && (NAMES.includes(column.name) || column.name.startsWith('reward.')));
  const order = [...shown].sort((a, b) => rank(a.name) - rank(b.name)).map(column => column.name);
  return {
    node,
    update(rows, narrowed) {
      const found = compareSelection(frame, order, rows);
      const listed = (narrowed ? found : order.flatMap(name => found.filter(one => one.name === name))).slice(0, ROWS);
      const byName = new Map(columns.map(column => [column.name, column]));
      fill(node,
        el('h3', null, narrowed ? `${count(rows.length)} selected, beside all ${count(frame.length)}` : `All ${plural(frame.length, 'sample')}`),
        el('table', { class: 'data' },
          el('thead', null, el('tr', null, el('th', { scope: 'col' }, 'Mean of'),
            narrowed ? el('th', { scope: 'col', class: 'num' }, 'Selected') : null,
            el('th', { scope: 'col', class: 'num' }, 'All'),
            narrowed ? el('th', { scope: 'col', title: 'Selected minus all, in standard deviations of all samples' }, 'sd from all') : null)),
          el('tbody', null, listed.map(one => line(one, /** @type {StepColumn} */ (byName.get(one.name)), narrowed, frame.length)))),
        el('p', { class: 'note' }, narrowed
          ? 'Means over samples that have a value; sorted by how far the selection lies from all.'
          : 'Means over samples that have a value. Drag in the picture or filter: this table then tells how the selection differs.'));
    },
  };
}

/**
 * @param {import('./compare.js').Difference} one
 * @param {StepColumn} column
 * @param {boolean} narrowed
 * @param {number} total
 * @returns {HTMLTableRowElement}
 */
function line(one, column, narrowed, total) {
  const coverage = one.nAll < total ? `${count(one.nAll)} of ${count(total)} samples have a value` : '';
  return el('tr', null,
    el('td', { class: 'clip', title: [column.name, coverage].filter(Boolean).join(': ') }, columnTitle(column)),
    narrowed ? el('td', { class: 'num', title: `over ${plural(one.nSelected, 'sample')}` }, meanText(column, one.selected)) : null,
    el('td', { class: 'num muted', title: `over ${plural(one.nAll, 'sample')}` }, meanText(column, one.all)),
    narrowed ? el('td', { class: 'step-sd', title: one.sds === null ? 'no distance: no value, not finite, or all samples are alike' : `${signed(one.sds, value)} sd` }, sdBar(one.sds)) : null);
}

/**
 * @param {number | null} sds
 * @returns {HTMLElement}
 */
function sdBar(sds) {
  const part = Math.min(1, Math.abs(sds ?? 0) / FULL) * 50;
  const below = (sds ?? 0) < 0;
  return el('span', { class: 'step-sd-bar' }, sds === null ? null : el('i', {
    class: Math.abs(sds) >= STRONG ? 'strong' : null, style: { width: `${part}%`, left: `${below ? 50 - part : 50}%` },
  }));
}

/** @param {string} name @returns {number} */
function rank(name) {
  const at = NAMES.indexOf(name);
  return at < 0 ? NAMES.length : at;
}
