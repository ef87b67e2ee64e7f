import { on } from '../dom.js';
import { mountKeys } from './keys.js';

const KEY = 'miles-report-theme';

/**
 * The parts of a page that every view has: the choice of colours and the menu.
 *
 * @param {Document} page
 * @param {import('../types').Context} context
 */
export function mountShell(page, context) {
  for (const group of page.querySelectorAll('.theme')) {
    /** @type {HTMLElement} */ (group).hidden = false;
  }
  const buttons = /** @type {HTMLButtonElement[]} */ ([...page.querySelectorAll('.theme [data-theme-choice]')]);
  const show = () => {
    const chosen = page.documentElement.dataset.theme ?? 'system';
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.themeChoice === chosen));
  };
  for (const button of buttons) {
    on(button, 'click', () => {
      chooseTheme(page, button.dataset.themeChoice ?? 'system', context);
      show();
    });
  }
  show();
  const menu = page.querySelector('details.menu');
  if (menu) {
    on(page, 'keydown', event => {
      if (event.key === 'Escape' && menu.hasAttribute('open')) menu.removeAttribute('open');
    });
  }
  mountKeys(page);
  on(window, 'keydown', event => goto(page, event)); // after the listeners of views, which may have a field of their own
}

/**
 * The slash goes to the field that goes anywhere.
 *
 * @param {Document} page
 * @param {KeyboardEvent} event
 */
function goto(page, event) {
  const target = /** @type {Element} */ (event.target);
  if (event.key !== '/' || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest?.('input, textarea, select, [contenteditable]')) return;
  const beside = /** @type {HTMLInputElement | null} */ (page.querySelector('.rail form.goto input'));
  const above = /** @type {HTMLInputElement | null} */ (page.querySelector('.menu form.goto input'));
  if (!beside || !above) return;
  event.preventDefault();
  if (beside.offsetParent) {
    beside.focus();
  } else {
    page.querySelector('details.menu')?.setAttribute('open', '');
    above.focus();
  }
}

/**
 * @param {Document} page
 * @param {string} choice light, dark or system
 * @param {import('../types').Context} context
 */
function chooseTheme(page, choice, context) {
  if (choice === 'system') delete page.documentElement.dataset.theme;
  else page.documentElement.dataset.theme = choice;
  try {
    if (choice === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch (cause) {
    context.log.warn('The choice of colours cannot be remembered here.', cause);
  }
  page.dispatchEvent(new CustomEvent('themechange'));
}
