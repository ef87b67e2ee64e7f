/**
 * Cells of a result: numbers as everywhere in the report, rows of samples as links.
 */

import { el } from '../dom.js';
import { count, value } from '../format.js';
import { TABLES } from '../schema.js';
import { sampleHref } from '../step/columns.js';
import { IDS } from './resultchart.js';

/** @typedef {import('../data/result.js').Result} Result */
/** @typedef {import('../types').Context} Context */
/** @typedef {import('../ui/table.js').TableColumn} TableColumn */

const LONG = 300;

/** Forms and words of columns whose name means the same in every table that has it. */
const KNOWN = known();

/** @returns {Map<string, {form: string, doc: string}>} */
function known() {
  /** @type {Map<string, {form: string, doc: string} | null>} */
  const found = new Map();
  for (const column of Object.values(TABLES).flatMap(table => table.columns)) {
    const other = found.get(column.name);
    if (other === undefined) found.set(column.name, { form: column.form, doc: column.doc });
    else if (other && other.form !== column.form) found.set(column.name, null);
  }
  return /** @type {Map<string, {form: string, doc: string}>} */ (new Map([...found].filter(([, column]) => column !== null)));
}

/**
 * @param {Result} result
 * @param {Context} context
 * @param {Set<string>} pages names of steps that have a page, as `step-3` and `eval-3`
 * @returns {TableColumn[]}
 */
export function resultColumns({ frame, kinds }, context, pages) {
  const { names, columns } = frame;
  return names.map(name => {
    const kind = kinds[name];
    const numeric = kind === 'number' || kind === 'integer';
    return {
      name,
      label: name,
      numeric,
      title: KNOWN.get(name)?.doc,
      class: kind === 'other' ? 'mono query-cell' : numeric ? 'query-number' : 'query-cell',
      cell: row => {
        const cell = columns[name][row];
        if (cell === null) return el('span', { class: 'null', title: 'null' }, '–');
        const text = cellText(cell, kind, name);
        const href = linkOf(name, cell, frame, row, pages);
        if (href) return el('a', { href: context.href(href) }, text);
        if (text.length > LONG) return el('span', { title: text.slice(0, 2000) }, `${text.slice(0, LONG)}…`);
        return numeric && String(cell) !== text ? el('span', { title: String(cell) }, text) : text;
      },
    };
  });
}

/**
 * @param {any} cell not null
 * @param {string} kind
 * @param {string} name
 * @returns {string}
 */
export function cellText(cell, kind, name) {
  if (kind === 'time') return utcText(cell);
  if (kind === 'date') return new Date(cell * 1000).toISOString().slice(0, 10);
  if (kind === 'boolean') return cell ? 'true' : 'false';
  if (kind === 'integer') return IDS.has(name) || typeof cell === 'string' ? String(cell) : count(cell);
  if (kind !== 'number') return String(cell);
  const form = KNOWN.get(name)?.form ?? 'number';
  return value(cell, form === 'text' || form === 'id' ? 'number' : form);
}

/**
 * @param {number} seconds
 * @returns {string} with milliseconds where there are any
 */
function utcText(seconds) {
  const whole = value(seconds, 'ts');
  const ms = Math.round((seconds - Math.floor(seconds)) * 1000);
  return ms && ms < 1000 ? whole.replace(' UTC', `.${String(ms).padStart(3, '0')} UTC`) : whole;
}

/**
 * @param {string} name
 * @param {any} cell
 * @param {import('../types').Frame} frame
 * @param {number} row
 * @param {Set<string>} pages
 * @returns {string} from the site root; '' for a cell that leads nowhere
 */
function linkOf(name, cell, { columns }, row, pages) {
  if (typeof cell !== 'number' || !Number.isInteger(cell) || cell < 0) return '';
  const evaluation = columns.evaluation?.[row] === true;
  const step = name === 'step' ? cell : columns.step?.[row];
  const page = `${evaluation ? 'eval' : 'step'}-${step}`;
  if (!pages.has(page)) return '';
  if (name === 'step') return `rollouts/${page}.html`;
  if (name === 'row') return sampleHref(step, cell, evaluation);
  if (name !== 'position' || !Number.isInteger(columns.row?.[row])) return '';
  return `${sampleHref(step, columns.row[row], evaluation)}&pos=${cell}`;
}
