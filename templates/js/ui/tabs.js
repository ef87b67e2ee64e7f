import { el } from '../dom.js';

/**
 * @typedef {{id: string, label: string, detail?: string, panel: HTMLElement}} Tab
 */

/**
 * A row of tabs over panels that are in the document already.
 *
 * @param {HTMLElement} list becomes the row; what it held (links for readers without script) goes
 * @param {Tab[]} tabs the panels get an id if they have none
 * @param {{selected: string, label: string, onSelect: (id: string) => void}} options
 * @returns {{select: (id: string) => void}} select: shows a tab without telling
 */
export function createTabs(list, tabs, { selected, label, onSelect }) {
  const buttons = tabs.map(tab => {
    tab.panel.id ||= `panel-${tab.id}`;
    tab.panel.setAttribute('role', 'tabpanel');
    tab.panel.setAttribute('aria-labelledby', `tab-${tab.id}`);
    return el('button', {
      type: 'button', class: 'tab', role: 'tab', id: `tab-${tab.id}`, 'aria-controls': tab.panel.id,
      onClick: () => choose(tab.id),
    }, tab.label, tab.detail ? el('small', null, tab.detail) : null);
  });
  const select = (/** @type {string} */ id) => {
    const chosen = tabs.some(tab => tab.id === id) ? id : tabs[0].id;
    tabs.forEach((tab, i) => {
      const on = tab.id === chosen;
      buttons[i].setAttribute('aria-selected', String(on));
      buttons[i].tabIndex = on ? 0 : -1;
      tab.panel.hidden = !on;
    });
  };
  const choose = (/** @type {string} */ id) => {
    select(id);
    onSelect(id);
  };
  list.classList.add('tabs');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', label);
  list.replaceChildren(...buttons);
  list.onkeydown = event => {
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const to = nextTab(event.key, at, tabs.length);
    if (at < 0 || to === null) return;
    event.preventDefault();
    buttons[to].focus();
    choose(tabs[to].id);
  };
  select(selected);
  return { select };
}

/**
 * @param {string} key
 * @param {number} at
 * @param {number} count
 * @returns {number | null} the tab that a key leads to; null for other keys
 */
export function nextTab(key, at, count) {
  if (key === 'ArrowRight') return (at + 1) % count;
  if (key === 'ArrowLeft') return (at + count - 1) % count;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : null;
}
