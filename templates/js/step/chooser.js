/**
 * The popover that chooses the columns of the samples table, in the seed's eight groups.
 */

import { el, fill } from '../dom.js';
import { DASH } from '../format.js';
import { SAMPLE_GROUPS } from '../schema.js';
import { createPopover } from '../ui/popover.js';
import { SEED_SET } from './columns.js';

/** @typedef {import('./columns.js').StepColumn} StepColumn */

/**
 * @param {{columns: StepColumn[], defaults: string[], chosen: () => string[], onChange: (names: string[]) => void}} settings
 * @returns {{node: HTMLButtonElement, show: () => void, dispose: () => void}} show: after the choice changed elsewhere
 */
export function createChooser({ columns, defaults, chosen, onChange }) {
  const node = el('button', { class: 'select', type: 'button' });
  const recorded = columns.filter(column => column.recorded).map(column => column.name);
  const checks = new Map();
  const show = () => {
    const names = new Set(chosen());
    fill(node, `Columns ${names.size} of ${columns.length}`);
    for (const [name, check] of checks) check.checked = names.has(name);
  };
  const choose = (/** @type {string[]} */ names) => {
    if (names.length) onChange(names);
    show();
  };
  const toggle = (/** @type {string} */ name, /** @type {boolean} */ on) => {
    const now = chosen().filter(one => one !== name);
    choose(on ? placed(now, name, columns) : now);
  };
  const popover = createPopover(node, box => {
    checks.clear();
    fill(box, head(box, choose, defaults, recorded), body(columns, checks, toggle),
      el('p', { class: 'note step-chooser-note' }, `${DASH} not recorded in this step. Drag a header to order. The link keeps columns, filter, sort and selection.`));
    show();
  }, { align: 'end', class: 'step-chooser', label: 'Columns of the table' });
  show();
  return { node, show, dispose: () => popover.dispose() };
}

/**
 * @param {HTMLElement} box
 * @param {(names: string[]) => void} choose
 * @param {string[]} defaults
 * @param {string[]} recorded
 * @returns {HTMLElement}
 */
function head(box, choose, defaults, recorded) {
  const find = el('input', { type: 'search', placeholder: 'Find a column', 'aria-label': 'Find a column' });
  find.addEventListener('input', () => narrow(box, find.value));
  const action = (/** @type {string} */ text, /** @type {string} */ title, /** @type {string[]} */ names) =>
    el('button', { type: 'button', class: 'button plain', title, onClick: () => choose(names) }, text);
  return el('div', { class: 'step-chooser-head' },
    el('div', { class: 'field' }, find),
    action('Seed set', "The columns of Miles's own dashboard that this step has", SEED_SET.filter(name => recorded.includes(name))),
    action('All', 'Every recorded column', recorded),
    action('Reset', 'The columns shown at first', defaults));
}

/**
 * @param {StepColumn[]} columns
 * @param {Map<string, HTMLInputElement>} checks filled
 * @param {(name: string, on: boolean) => void} toggle
 * @returns {HTMLElement}
 */
function body(columns, checks, toggle) {
  const groups = SAMPLE_GROUPS.flatMap(group => {
    const members = columns.filter(column => column.group === group);
    if (!members.length) return [];
    return [el('fieldset', { class: 'step-chooser-group' }, el('legend', null, group), members.map(column => {
      const check = el('input', { type: 'checkbox', disabled: !column.recorded });
      check.addEventListener('change', () => toggle(column.name, check.checked));
      checks.set(column.name, check);
      return el('label', {
        class: 'check', 'aria-disabled': column.recorded ? null : 'true', data: { name: column.name.toLowerCase() },
        title: column.recorded ? column.doc : `Not recorded: ${column.nullReason}.`,
      }, check, el('span', { class: 'clip' }, column.name, column.recorded ? '' : ` ${DASH}`));
    }))];
  });
  return el('div', { class: 'step-chooser-groups' }, groups);
}

/**
 * @param {HTMLElement} box
 * @param {string} text
 */
function narrow(box, text) {
  const wanted = text.trim().toLowerCase();
  for (const group of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll('.step-chooser-group'))) {
    const labels = /** @type {HTMLElement[]} */ ([...group.querySelectorAll('label')]);
    for (const label of labels) label.hidden = !(label.dataset.name ?? '').includes(wanted);
    group.hidden = labels.every(label => label.hidden);
  }
}

/**
 * A column put where the order of the table suggests: behind the nearest chosen one before it.
 *
 * @param {string[]} names chosen so far, in order
 * @param {string} name
 * @param {StepColumn[]} columns
 * @returns {string[]}
 */
export function placed(names, name, columns) {
  const order = columns.map(column => column.name);
  const before = order.slice(0, order.indexOf(name)).reverse().find(one => names.includes(one));
  const at = before === undefined ? 0 : names.indexOf(before) + 1;
  return [...names.slice(0, at), name, ...names.slice(at)];
}
