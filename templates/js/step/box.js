/**
 * The filter box: paints what it understands, names the token it does not, counts, and proposes examples.
 */

import { el, fill } from '../dom.js';
import { count } from '../format.js';
import { createPopover } from '../ui/popover.js';

/**
 * @typedef {import('./filter.js').ParsedFilter} ParsedFilter
 * @typedef {{text: string, says: string}} Example
 */

const TYPING_MS = 250;

/**
 * @param {{parse: (text: string) => ParsedFilter, examples: Example[], onChange: (text: string) => void, placeholder: string}} settings
 *   onChange: told when typing pauses, on Enter, and by the examples; also of text that has an error
 * @returns {{node: HTMLElement, examples: HTMLElement, set: (text: string) => void, tell: (shown: number, all: number, note?: string) => void, focus: () => void, dispose: () => void}}
 */
export function createFilterBox({ parse, examples, onChange, placeholder }) {
  const paint = el('div', { class: 'step-box-paint mono', 'aria-hidden': 'true' });
  const input = el('input', {
    class: 'mono', type: 'text', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', placeholder,
    'aria-label': 'Filter samples', 'aria-describedby': 'step-filter-error',
  });
  const counted = el('span', { class: 'field-note', role: 'status' });
  const clear = el('button', { class: 'step-box-clear', type: 'button', title: 'Clear the filter', 'aria-label': 'Clear the filter', hidden: true }, '✕');
  const error = el('p', { class: 'field-error', id: 'step-filter-error', role: 'alert', hidden: true });
  const field = el('div', { class: 'field filter step-box' }, el('div', { class: 'step-box-text' }, paint, input), counted, clear);
  const button = el('button', { class: 'select', type: 'button' }, 'Example filters');
  let timer = 0;

  const show = () => {
    const { marks, error: problem } = parse(input.value);
    fill(paint, painted(input.value, marks));
    paint.scrollLeft = input.scrollLeft;
    clear.hidden = input.value === '';
    error.hidden = problem === null;
    error.textContent = problem?.message ?? '';
    field.setAttribute('aria-invalid', String(problem !== null));
    input.setAttribute('aria-invalid', String(problem !== null));
  };
  const send = () => {
    clearTimeout(timer);
    timer = 0;
    onChange(input.value);
  };
  const replace = (/** @type {string} */ text) => {
    input.value = text;
    show();
    send();
    input.focus({ preventScroll: true });
  };
  input.addEventListener('input', () => {
    show();
    clearTimeout(timer);
    timer = window.setTimeout(send, TYPING_MS);
  });
  input.addEventListener('scroll', () => { paint.scrollLeft = input.scrollLeft; });
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter') send();
    if (event.key === 'Escape' && input.value) {
      event.stopPropagation();
      replace('');
    }
  });
  clear.addEventListener('click', () => replace(''));
  field.addEventListener('click', event => {
    if (event.target === field) input.focus();
  });
  const popover = createPopover(button, (box, close) => {
    for (const example of examples) {
      box.append(el('button', { type: 'button', role: 'menuitem', onClick: () => {
        close();
        replace(example.text);
      } }, el('code', null, example.text), el('small', null, example.says)));
    }
  }, { align: 'end', class: 'menu-list step-examples', role: 'menu', label: 'Example filters' });
  return {
    node: el('div', { class: 'step-box-outer' }, field, error),
    examples: button,
    set(text) {
      // What is being typed is not told yet: a change from elsewhere must not take it away.
      if (timer || text === input.value) return;
      input.value = text;
      show();
    },
    tell(shown, all, note) {
      counted.textContent = note ?? `${count(shown)} of ${count(all)}`;
    },
    focus: () => input.focus(),
    dispose() {
      clearTimeout(timer);
      popover.dispose();
    },
  };
}

/**
 * The text of the box in pieces, each with the class of what it is.
 *
 * @param {string} text
 * @param {import('./filter.js').Mark[]} marks in order, without overlap
 * @returns {(string | HTMLElement)[]}
 */
function painted(text, marks) {
  /** @type {(string | HTMLElement)[]} */
  const parts = [];
  let at = 0;
  for (const { start, end, kind } of marks) {
    if (start > at) parts.push(text.slice(at, start));
    parts.push(el('span', { class: `step-mark-${kind}` }, text.slice(start, end)));
    at = end;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

/**
 * Filters worth a try on this step.
 *
 * @param {import('./columns.js').StepColumn[]} columns
 * @param {(name: string) => boolean} some whether a boolean column is true somewhere
 * @returns {Example[]}
 */
export function exampleFilters(columns, some) {
  const has = (/** @type {string} */ name) => columns.some(column => column.name === name && column.recorded);
  /** @type {[string, string, boolean][]} */
  const all = [
    ['truncated', 'hit the length limit', has('truncated') && some('truncated')],
    ['mixed_version', 'more than one weight version', has('mixed_version') && some('mixed_version')],
    ['-status:completed', 'did not end by itself', has('status')],
    ['reward_value <= 0', 'no reward', has('reward_value')],
    ['mean_abs_lp_diff > 0.01', 'trainer and engine disagree', has('mean_abs_lp_diff')],
    ['staleness >= 2', 'two versions old or more', has('staleness')],
    ['tool_calls >= 2 -truncated', 'several tools, ended by itself', has('tool_calls')],
    ['max_entropy > 2', 'a very uncertain token', has('max_entropy')],
    ['text:"therefore"', 'says so somewhere', true],
  ];
  return all.filter(([, , useful]) => useful).map(([text, says]) => ({ text, says }));
}
