import { el, fill } from '../dom.js';
import { createPopover } from './popover.js';

/**
 * @typedef {{value: string, label: string, group?: string, disabled?: boolean, title?: string}} Option
 */

/**
 * A button with a name and a value that opens a list to choose from.
 *
 * @param {{label: string, options: Option[], value: string, onChange: (value: string) => void, align?: 'start' | 'end'}} settings
 * @returns {{node: HTMLButtonElement, set: (value: string) => void, setOptions: (options: Option[]) => void, dispose: () => void}}
 */
export function createSelect({ label, options, value, onChange, align = 'start' }) {
  const node = el('button', { class: 'select', type: 'button' });
  const show = () => {
    const chosen = options.find(option => option.value === value);
    fill(node, el('span', { class: 'select-name' }, label), ' ', el('span', { class: 'clip' }, chosen?.label ?? value));
  };
  const popover = createPopover(node, (box, close) => {
    fillList(box, options, value, chosen => {
      value = chosen;
      show();
      close();
      onChange(chosen);
    });
  }, { align, class: 'menu-list', role: 'listbox', label });
  show();
  return {
    node,
    set(next) {
      value = next;
      show();
    },
    setOptions(next) {
      options = next;
      show();
    },
    dispose: () => popover.dispose(),
  };
}

/**
 * @param {HTMLElement} box
 * @param {Option[]} options
 * @param {string} value
 * @param {(value: string) => void} choose
 */
function fillList(box, options, value, choose) {
  let group = '';
  for (const option of options) {
    if ((option.group ?? '') !== group) {
      group = option.group ?? '';
      if (group) box.append(el('div', { class: 'menu-group', role: 'presentation' }, group));
    }
    box.append(el('button', {
      type: 'button', role: 'option', tabindex: option.value === value ? 0 : -1, title: option.title,
      'aria-selected': String(option.value === value), 'aria-disabled': option.disabled ? 'true' : null,
      onClick: option.disabled ? null : () => choose(option.value),
    }, option.label));
  }
  const items = /** @type {HTMLElement[]} */ ([...box.querySelectorAll('[role="option"]:not([aria-disabled])')]);
  let typed = '';
  let timer = 0;
  box.onkeydown = event => {
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 });
    let to = moves[event.key];
    if (to === undefined && event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey) {
      typed += event.key.toLowerCase();
      clearTimeout(timer);
      timer = window.setTimeout(() => { typed = ''; }, 600);
      to = items.findIndex(item => item.textContent?.toLowerCase().startsWith(typed));
      if (to < 0) return;
    }
    if (to === undefined) return;
    event.preventDefault();
    items[Math.max(0, Math.min(items.length - 1, to))]?.focus();
  };
  const chosen = items.find(item => item.getAttribute('aria-selected') === 'true') ?? items[0];
  queueMicrotask(() => chosen?.focus({ preventScroll: true }));
}
