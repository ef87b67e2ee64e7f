import { el, fill } from '../dom.js';
import { plural } from '../format.js';

/**
 * A field that leaves only the columns whose words contain what is typed.
 *
 * @param {HTMLElement} root
 * @param {import('../types').Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  const place = root.querySelector('.glossary-find');
  const rows = /** @type {HTMLTableRowElement[]} */ ([...root.querySelectorAll('table.glossary tbody tr')]);
  const words = rows.map(row => `${row.id} ${row.textContent}`.toLowerCase());
  const note = el('span', { class: 'field-note', role: 'status' });
  const input = el('input', {
    type: 'search', placeholder: 'Find a column, e.g. entropy', 'aria-label': 'Find a column', value: context.url.get('find', ''),
    onInput: () => {
      context.url.set({ find: input.value || null });
      show();
    },
  });
  const show = () => {
    const parts = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    rows.forEach((row, i) => {
      row.hidden = !parts.every(part => words[i].includes(part));
      found += Number(!row.hidden);
    });
    for (const section of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('section:has(table.glossary)'))) {
      section.hidden = !section.querySelector('tbody tr:not([hidden])');
    }
    fill(note, parts.length ? plural(found, 'column') : '');
  };
  place?.append(el('label', { class: 'field filter' }, input, note));
  show();
  return context.url.onChange(() => {
    if (document.activeElement === input) return;
    input.value = context.url.get('find', '');
    show();
  });
}
