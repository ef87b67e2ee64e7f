import { el, on } from '../dom.js';
import { toast } from './download.js';
import { createPopover } from './popover.js';

/** @typedef {import('../types').Context} Context */
/**
 * The ways to the rows of a chart or table, as the build wrote them; `{name}` is filled in here.
 * @typedef {{what: string, sql: string, command: string, run: string, site: string}} Recipe
 */
/** @typedef {'sql' | 'command' | 'run' | 'site'} Form */

/** @type {[Form, string][]} */
const LABELS = [
  ['sql', 'SQL'],
  ['command', 'Command, on the dump'],
  ['run', 'Python, on the dump'],
  ['site', 'Python, on this report'],
];

/** Text as a literal of each language. @type {Record<Form, (text: string) => string>} */
const QUOTED = {
  sql: text => `'${text.replaceAll("'", "''")}'`,
  command: text => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`),
  run: text => JSON.stringify(text),
  site: text => JSON.stringify(text),
};

/**
 * @param {Recipe} recipe
 * @param {Form} form
 * @param {Record<string, string | number>} values of its slots; text is quoted
 * @returns {string}
 */
export function written(recipe, form, values) {
  return recipe[form].replace(/\{(\w+)\}/g, (whole, name) => {
    if (!Object.hasOwn(values, name)) return whole;
    const value = values[name];
    return typeof value === 'number' ? String(value) : QUOTED[form](value);
  });
}

/**
 * Copies a text; where the browser lets no page write to the clipboard, the old way of a selected field.
 *
 * @param {string} text
 * @param {string} what said when it is done
 * @returns {Promise<void>}
 */
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = el('textarea', { class: 'visually-hidden', readonly: true });
    field.value = text;
    const { activeElement } = document;
    document.body.append(field);
    field.select();
    const copied = document.execCommand('copy');
    field.remove();
    if (activeElement instanceof HTMLElement) activeElement.focus();
    if (!copied) {
      toast('This browser does not let the page copy. Select the text under “Copy as”.');
      return;
    }
  }
  toast(`${what} copied`);
}

/**
 * @param {Context} context
 * @param {string} text
 * @returns {string} with the address of this report in the place of SITE
 */
function placed(context, text) {
  return text.replace('open_site("SITE")', `open_site(${JSON.stringify(siteAddress(context))})`);
}

/** @param {Context} context @returns {string} */
function siteAddress(context) {
  return new URL(context.href('.'), location.href).href.replace(/[?#].*$/, '');
}

/**
 * A button with the ways as a menu, for charts that script draws.
 *
 * @param {Recipe} recipe
 * @param {Context} context
 * @param {() => Record<string, string | number>} values asked when one is chosen
 * @param {string} [name] of what is copied, for those who hear the button
 * @returns {{button: HTMLElement, dispose: () => void}}
 */
export function createCopyAs(recipe, context, values, name = recipe.what) {
  const button = el('button', { type: 'button', class: 'button plain copy-as-button', 'aria-label': `Copy as: ${name}` }, 'Copy as');
  const popover = createPopover(button, (box, close) => {
    for (const [form, label] of LABELS) {
      box.append(el('button', { type: 'button', role: 'menuitem', onClick: () => {
        close();
        copyText(placed(context, written(recipe, form, values())), label);
      } }, label));
    }
  }, { align: 'end', class: 'menu-list', role: 'menu', label: `Copy as: ${name}` });
  return { button, dispose: popover.dispose };
}

/**
 * Gives the folds that the build wrote their buttons, when one is opened.
 *
 * @param {ParentNode} scope
 * @param {Context} context
 * @returns {() => void}
 */
export function mountCopyAs(scope, context) {
  const folds = /** @type {HTMLDetailsElement[]} */ ([...scope.querySelectorAll('details[data-copy-as]')]);
  const offs = folds.map(fold => on(fold, 'toggle', () => fillFold(fold, context)));
  return () => offs.forEach(off => off());
}

/**
 * @param {HTMLDetailsElement} fold
 * @param {Context} context
 */
function fillFold(fold, context) {
  if (!fold.open || fold.dataset.filled !== undefined) return;
  fold.dataset.filled = '';
  for (const code of /** @type {NodeListOf<HTMLElement>} */ (fold.querySelectorAll('[data-copy]'))) {
    const text = placed(context, code.textContent ?? '');
    code.textContent = text;
    const label = code.closest('div')?.querySelector('dt');
    const name = label?.textContent ?? '';
    label?.append(' ', el('button', { type: 'button', class: 'button', 'aria-label': `Copy ${name}`, onClick: () => copyText(text, name) }, 'Copy'));
    if (code.dataset.copy === 'sql' && !context.fileProtocol) {
      label?.append(' ', el('a', { href: context.href(`query.html?sql=${encodeURIComponent(text)}`) }, 'Run'));
    }
  }
}
