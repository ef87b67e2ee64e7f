/**
 * The Groups tab: samples of one prompt, what they learned from, and the siblings side by side.
 */

import { readTable } from '../data/slices.js';
import { clear, el, fill } from '../dom.js';
import { count, number, plural, value } from '../format.js';
import { TABLES } from '../schema.js';
import { csv, download } from '../ui/download.js';
import { failure } from '../ui/failure.js';
import { sampleHref } from './columns.js';
import { drawSiblings } from './siblings.js';
import { clickSort, sortRows } from './sort.js';

/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('./state.js').StepState} StepState */

const COLUMNS = ['n', 'reward_mean', 'reward_std', 'response_length_mean', 'truncated_frac', 'adv_mean', 'adv_std'];
const PAGE = 100;
const REWARDS = 8;

/**
 * @param {HTMLElement} head
 * @param {HTMLElement} box
 * @param {Parameters<typeof import('./samples.js').mountSamples>[1]} given
 * @returns {{update: (state: StepState) => void, dispose: () => void}}
 */
export function mountGroups(head, box, given) {
  const { context, catalog, frame, set } = given;
  const declared = new Map(TABLES.groups.columns.map(column => [column.name, column]));
  const members = membersOf(frame);
  /** @type {Frame | null} */
  let groups = null;
  /** @type {StepState | null} */
  let state = null;
  let limit = PAGE;
  let asked = false;

  const load = () => {
    asked = true;
    readTable(context, catalog, 'groups').then(found => {
      groups = found;
      draw();
    }, error => fill(head, failure(error, { what: 'Siblings and sorting', retry: load })));
  };

  /** @param {string} name @param {string} label @param {string} title @param {boolean} numeric */
  const header = (name, label, title, numeric) => {
    const key = state?.groupSort.find(one => one.column === name);
    return el('th', { scope: 'col', class: numeric ? 'num' : null, title, 'aria-sort': key ? (key.descending ? 'descending' : 'ascending') : null },
      el('button', { type: 'button', onClick: (/** @type {MouseEvent} */ event) => set({ groupSort: clickSort(state?.groupSort ?? [], name, { add: event.shiftKey, descendingFirst: true }) }) }, label));
  };

  function draw() {
    if (!groups || !state) return;
    const all = groups;
    const order = sortRows(Array.from({ length: all.length }, (_, row) => row), all, state.groupSort);
    const open = new Set(state.openGroups);
    const zero = order.filter(row => all.columns.zero_std[row]).length;
    fill(head, el('h3', null, plural(all.length, 'group')),
      el('p', { class: 'note' }, `${count(zero)} with one reward for all samples: they give no gradient. A group unfolds its siblings.`),
      el('span', { class: 'spring' }),
      el('button', { class: 'button', type: 'button', onClick: () => download(`${given.context.page.evaluation ? 'eval' : 'step'}-${given.context.page.step}-groups.csv`, csv(all, all.names, order)) }, 'CSV'));
    const body = el('tbody');
    for (const row of order.slice(0, limit)) {
      const key = String(all.columns.group_index[row] ?? 'null');
      body.append(line(all, row, key, open.has(key)));
      if (open.has(key)) {
        const cell = el('td', { colspan: COLUMNS.length + 3 });
        body.append(el('tr', { class: 'step-siblings-row' }, cell));
        drawSiblings(cell, members.get(all.columns.group_index[row] ?? null) ?? [], given);
      }
    }
    clear(box).append(
      el('table', { class: 'data' },
        el('thead', null, el('tr', null,
          header('group_index', 'Group', 'group_index: samples of one prompt share it.', true),
          header('zero_std', 'Signal', 'zero_std: whether all rewards are equal, so that the group gives no gradient.', false),
          el('th', { scope: 'col', title: 'reward_value of each sample in file order; each leads to the sample.' }, 'Rewards of its samples'),
          COLUMNS.map(name => {
            const column = declared.get(name);
            return header(name, column?.unit ? `${column.label}, ${column.unit}` : column?.label ?? name, `${name}: ${column?.doc ?? ''}`, true);
          }))),
        body));
    if (order.length > limit) {
      box.append(el('p', null, el('button', { class: 'button', type: 'button', onClick: () => { limit += PAGE * 5; draw(); } },
        `Show ${count(Math.min(PAGE * 5, order.length - limit))} more of ${count(order.length)}`)));
    }
  }

  /** @param {Frame} all @param {number} row @param {string} key @param {boolean} isOpen */
  function line(all, row, key, isOpen) {
    const rewards = members.get(all.columns.group_index[row] ?? null) ?? [];
    return el('tr', { class: isOpen ? 'selected' : null },
      el('td', { class: 'num' }, el('button', {
        type: 'button', class: 'step-unfold', 'aria-expanded': String(isOpen),
        onClick: () => set({ openGroups: isOpen ? (state?.openGroups ?? []).filter(one => one !== key) : [...(state?.openGroups ?? []), key] }),
      }, key === 'null' ? 'none' : key)),
      el('td', null, signal(all, row)),
      el('td', { class: 'step-rewards' },
        rewards.slice(0, REWARDS).flatMap(sample => [el('a', {
          href: context.href(sampleHref(context.page.step, frame.columns.row[sample], context.page.evaluation)), title: `row ${frame.columns.row[sample]}`,
        }, number(frame.columns.reward_value[sample])), ' ']),
        rewards.length > REWARDS ? el('span', { class: 'muted' }, `and ${count(rewards.length - REWARDS)} more`) : null),
      COLUMNS.map(name => {
        const cell = all.columns[name][row];
        const form = declared.get(name)?.form;
        return el('td', { class: 'num' }, cell === null ? el('span', { class: 'null', title: declared.get(name)?.null }, '–') : value(cell, form));
      }));
  }

  return {
    update(next) {
      state = next;
      if (next.tab !== 'groups') return;
      if (groups) draw();
      else if (!asked) load();
    },
    dispose() {},
  };
}

/** @param {Frame} groups @param {number} row @returns {import('../dom.js').Child} */
function signal(groups, row) {
  if (groups.columns.zero_std[row]) return el('span', { class: 'status info', title: 'All rewards are equal: no gradient.' }, 'zero std');
  if (groups.columns.reward_mean[row] === null) return el('span', { class: 'null', title: 'no sample has a reward' }, '–');
  return 'varied';
}

/**
 * @param {Frame} frame samples
 * @returns {Map<number | null, number[]>} frame rows by group_index
 */
export function membersOf(frame) {
  /** @type {Map<number | null, number[]>} */
  const found = new Map();
  for (let row = 0; row < frame.length; row++) {
    const group = frame.columns.group_index[row];
    const members = found.get(group) ?? [];
    members.push(row);
    found.set(group, members);
  }
  return found;
}
