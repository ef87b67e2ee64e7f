import { el, fill, on } from '../dom.js';
import { quoteName } from '../query/sql.js';
import { mountSql } from '../query/sqlview.js';
import { mountSearch } from '../search/view.js';
import { failure } from '../ui/failure.js';
import { FileProtocolError } from '../data/errors.js';
import { createTabs } from '../ui/tabs.js';

/** @typedef {import('../types').Context} Context */

/**
 * Questions to the report: SQL over its tables, and search over its samples.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (root.querySelector(`[data-part="${name}"]`));
  const panels = /** @type {HTMLElement[]} */ ([...root.querySelectorAll('[data-tab]')]);
  const chosen = () => context.url.get('tab') ?? (context.url.get('search') === null ? 'sql' : 'search');
  const tabs = createTabs(part('tablist'), panels.map(panel => ({ id: panel.id, label: panel.dataset.tab ?? '', panel })), {
    selected: chosen(), label: 'SQL or search', onSelect: tab => context.url.set({ tab }, { push: true }),
  });
  showAddress(root, context);
  const offs = [context.url.onChange(() => tabs.select(chosen())), findColumns(part('find'), part('tables'))];
  if (context.fileProtocol) {
    fill(part('editor'), failure(new FileProtocolError(), { what: 'SQL' }));
    fill(part('search'), failure(new FileProtocolError(), { what: 'Search' }));
    for (const sql of root.querySelectorAll('.query-examples pre')) sql.classList.remove('no-js');
    return () => offs.forEach(off => off());
  }
  const sql = mountSql({ editor: part('editor'), output: part('output') }, context);
  const search = mountSearch(part('search'), context, { pages: railPages(root, context) });
  offs.push(...columnButtons(part('tables'), name => sql.insert(name)));
  offs.push(on(root, 'click', event => {
    const link = event.target.closest('[data-example]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    sql.open(context.page.examples[Number(link.dataset.example)].sql);
  }));
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (root.ownerDocument.querySelectorAll('form.goto'))) {
    offs.push(on(form, 'submit', event => {
      event.preventDefault();
      search.open(form.querySelector('input')?.value ?? '');
    }));
  }
  return () => {
    offs.forEach(off => off());
    sql.dispose();
    search.dispose();
  };
}

/**
 * The address of this site where the text of the build could only say an example.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
function showAddress(root, context) {
  const address = new URL(context.href('.'), location.href).href.replace(/[?#].*$/, '');
  for (const code of root.querySelectorAll('[data-code]')) {
    code.textContent = (code.textContent ?? '').replaceAll(context.page.place, address);
  }
}

/**
 * Names of columns as buttons that put them into the editor, and one for each table.
 *
 * @param {HTMLElement} list
 * @param {(name: string) => void} insert
 * @returns {(() => void)[]}
 */
function columnButtons(list, insert) {
  const written = (/** @type {string} */ name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteName(name));
  for (const details of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll('[data-table]'))) {
    const table = details.dataset.table ?? '';
    for (const link of /** @type {NodeListOf<HTMLElement>} */ (details.querySelectorAll('[data-column]'))) {
      const column = link.dataset.column ?? '';
      link.replaceWith(el('button', { type: 'button', class: 'mono', data: { insert: written(column) }, title: 'Insert into the query' }, column));
    }
    const href = list.querySelector(`[data-table="${table}"] a[href]`)?.getAttribute('href');
    details.querySelector('ul')?.prepend(el('li', { class: 'query-from' },
      el('button', { type: 'button', data: { insert: table } }, `insert ${table}`), href ? el('a', { href }, 'glossary') : el('a', { href: `glossary.html#${table}` }, 'glossary')));
  }
  return [on(list, 'click', event => {
    const button = event.target.closest('[data-insert]');
    if (button) insert(button.dataset.insert);
  })];
}

/**
 * A field that leaves the tables and columns whose names or words contain what is typed.
 *
 * @param {HTMLElement} host
 * @param {HTMLElement} list
 * @returns {() => void}
 */
function findColumns(host, list) {
  const tables = /** @type {HTMLDetailsElement[]} */ ([...list.querySelectorAll('details')]);
  const opened = tables.map(table => table.open);
  const input = el('input', { type: 'search', placeholder: 'Find a table or column', 'aria-label': 'Find a table or column', onInput: () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    tables.forEach((table, i) => {
      const name = table.dataset.table ?? '';
      const whole = words.every(word => name.includes(word));
      let some = 0;
      for (const item of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll('li:not(.query-from)'))) {
        const text = `${name} ${item.textContent} ${item.title}`.toLowerCase();
        item.hidden = !whole && !words.every(word => text.includes(word));
        some += Number(!item.hidden);
      }
      table.hidden = words.length > 0 && !whole && !some;
      table.open = words.length ? !table.hidden && !whole : opened[i];
    });
  } });
  host.append(el('label', { class: 'field query-find' }, input));
  return () => host.replaceChildren();
}

/**
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {{label: string, href: string}[]} entries of the rail, from the site root
 */
function railPages(root, context) {
  return [...root.ownerDocument.querySelectorAll('.rail nav a')].map(link => ({
    label: link.firstChild?.textContent?.trim() ?? '',
    href: (link.getAttribute('href') ?? '').slice(context.root.length),
  }));
}
