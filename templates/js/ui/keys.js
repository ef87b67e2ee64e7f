import { el, on } from '../dom.js';

/** @typedef {[keys: string, what: string][]} Keys */

/** What every page knows. @type {Keys} */
const EVERYWHERE = [
  ['/', 'filter of the page, else go to a page or search all samples'],
  ['?', 'these keys'],
  ['Tab', 'next link, button or field; Shift back'],
  ['Esc', 'close what is open'],
];

/** By the view of the page. @type {Record<string, Keys>} */
const OF_VIEW = {
  compute: [
    ['+ -', 'lanes: closer, wider'],
    ['← →', 'lanes: earlier, later'],
    ['[ ]', 'lanes: step before or after'],
    ['0', 'lanes: the whole run'],
  ],
  step: [
    ['↑ ↓', 'row before or after; Home and End the first and last'],
    ['Enter', 'open the sample of the row'],
    ['Space', 'pin the row for comparison'],
    ['← →', 'between the tabs'],
  ],
  rollouts: [
    ['↑ ↓', 'row before or after'],
    ['Enter', 'open the step of the row'],
  ],
  sample: [
    ['[ ]', 'sample before or after in the group'],
    [', .', 'sample before or after in the step'],
    ['← → ↑ ↓', 'tokens: token or line before or after'],
    ['Enter', 'tokens: pin the token'],
    ['f', 'tokens: find text'],
    ['y', 'tokens: copy the link to the token'],
  ],
  query: [
    ['Ctrl Enter', 'run the query'],
    ['Esc Tab', 'leave the editor; Tab alone indents'],
    ['↑ ↓', 'rows of the result'],
  ],
};

/**
 * The sheet of keys: `?` opens it, and so does the button in the rail.
 *
 * @param {Document} page
 * @returns {() => void}
 */
export function mountKeys(page) {
  /** @type {HTMLDialogElement | null} */
  let sheet = null;
  const show = () => {
    sheet ??= createSheet(page.body.dataset.view ?? '');
    if (!sheet.isConnected) page.body.append(sheet);
    if (!sheet.open) sheet.showModal();
  };
  const buttons = /** @type {HTMLElement[]} */ ([...page.querySelectorAll('[data-keys]')]);
  const offs = buttons.map(button => on(button, 'click', show));
  offs.push(on(window, 'keydown', event => {
    const target = /** @type {Element} */ (event.target);
    if (event.key !== '?' || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest?.('input, textarea, select, [contenteditable]')) return;
    event.preventDefault();
    show();
  }));
  return () => offs.forEach(off => off());
}

/**
 * @param {string} view
 * @returns {HTMLDialogElement}
 */
function createSheet(view) {
  const close = el('button', { type: 'button', class: 'button', onClick: () => sheet.close() }, 'Close');
  const own = Object.hasOwn(OF_VIEW, view) ? OF_VIEW[view] : [];
  const sheet = el('dialog', { class: 'keys-sheet', 'aria-labelledby': 'keys-title' },
    el('div', { class: 'keys-head' }, el('h2', { id: 'keys-title' }, 'Keys'), close),
    own.length ? el('h3', null, 'On this page') : null, own.length ? rows(own) : null,
    el('h3', null, 'On every page'), rows(EVERYWHERE));
  on(sheet, 'click', event => {
    if (event.target === sheet) sheet.close();
  });
  return sheet;
}

/** @param {Keys} keys @returns {HTMLElement} */
function rows(keys) {
  return el('dl', null, keys.map(([key, what]) => el('div', null,
    el('dt', null, key.split(' ').map(one => [el('kbd', null, one), ' ']).flat()), el('dd', null, what))));
}
