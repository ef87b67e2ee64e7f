/**
 * The editor: a plain text field over its own text in colours, with numbers of lines.
 */

import { el, fill } from '../dom.js';
import { paintedLines } from './paint.js';
import { place } from './sql.js';

const INDENT = '  ';

/**
 * @param {{onRun: () => void, onChange: (text: string) => void}} settings onChange: told of every change by the reader
 * @returns {{node: HTMLElement, text: () => string, set: (text: string) => void, insert: (text: string) => void, tell: (message: string, at: number | null) => void, calm: () => void, focus: () => void}}
 *   set: replaces all, which the browser's undo takes back; tell: shows what is wrong and where; calm: takes that away
 */
export function createEditor({ onRun, onChange }) {
  const paint = el('pre', { class: 'query-paint', 'aria-hidden': 'true' });
  const input = el('textarea', {
    class: 'query-input', rows: 1, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', wrap: 'soft',
    'aria-label': 'SQL', 'aria-describedby': 'query-keys query-trouble', 'aria-multiline': 'true',
  });
  const problem = el('p', { class: 'field-error', id: 'query-trouble', role: 'alert', hidden: true });
  const node = el('div', { class: 'query-editor-outer' },
    el('div', { class: 'query-editor' }, el('div', { class: 'query-sheet' }, paint, input)),
    problem,
    el('p', { class: 'visually-hidden', id: 'query-keys' }, 'Control or Command and Enter runs the query. Tab indents; Escape and then Tab leaves the editor.'));
  let wrong = -1;
  let leaving = false;

  const show = () => {
    fill(paint, paintedLines(input.value).map((line, i) => el('span', { class: i === wrong ? 'query-line wrong' : 'query-line' },
      line.map(({ text, kind }) => (kind ? el('span', { class: `sql-${kind}` }, text) : text)), '\n')));
  };
  const calm = () => {
    if (wrong < 0 && problem.hidden) return;
    wrong = -1;
    problem.hidden = true;
    input.removeAttribute('aria-invalid');
    show();
  };
  const changed = () => {
    wrong = -1;
    problem.hidden = true;
    input.removeAttribute('aria-invalid');
    show();
    onChange(input.value);
  };
  const write = (/** @type {string} */ text) => {
    input.focus({ preventScroll: true });
    if (!document.execCommand('insertText', false, text)) {
      input.setRangeText(text, input.selectionStart, input.selectionEnd, 'end');
      changed();
    }
  };
  input.addEventListener('input', changed);
  input.addEventListener('blur', () => { leaving = false; });
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onRun();
    } else if (event.key === 'Escape') {
      leaving = true;
    } else if (event.key === 'Tab' && !leaving && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      if (event.shiftKey) unindent(input, changed);
      else write(INDENT);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      const line = input.value.slice(0, input.selectionStart).split('\n').pop() ?? '';
      const indent = /^ */.exec(line)?.[0] ?? '';
      if (!indent) return;
      event.preventDefault();
      write(`\n${indent}`);
    } else if (event.key !== 'Shift' && event.key !== 'Tab') {
      leaving = false;
    }
  });
  show();
  return {
    node,
    text: () => input.value,
    set(text) {
      if (text === input.value) return;
      if (document.activeElement === input && text) {
        input.select();
        write(text);
        return;
      }
      input.value = text;
      calm();
      show();
    },
    insert(text) {
      const before = input.value.slice(0, input.selectionStart);
      write(before && !/[\s(.,]$/.test(before) ? ` ${text}` : text);
    },
    tell(message, at) {
      const where = at === null ? null : place(input.value, at);
      wrong = where ? where.line - 1 : -1;
      fill(problem, where ? el('span', { class: 'mono' }, `Line ${where.line}, column ${where.column}: `) : null, message);
      problem.hidden = false;
      input.setAttribute('aria-invalid', 'true');
      show();
    },
    calm,
    focus: () => input.focus(),
  };
}

/**
 * Takes one step of indentation from the line of the caret.
 *
 * @param {HTMLTextAreaElement} input
 * @param {() => void} changed
 */
function unindent(input, changed) {
  const start = input.value.lastIndexOf('\n', input.selectionStart - 1) + 1;
  const spaces = /^ {0,2}/.exec(input.value.slice(start))?.[0].length ?? 0;
  if (!spaces) return;
  const caret = Math.max(start, input.selectionStart - spaces);
  input.setRangeText('', start, start + spaces, 'end');
  input.setSelectionRange(caret, caret);
  changed();
}
