/**
 * What a query answered: a table and a drawing beside each other, linked by hover, and the ways to take it away.
 */

import { clear, el, fill, on } from '../dom.js';
import { count, plural } from '../format.js';
import { downloadSvg } from '../ui/download.js';
import { createSelect } from '../ui/menu.js';
import { createTable } from '../ui/table.js';
import { drawResult, guess, kindFor, numberColumns } from './resultchart.js';
import { resultColumns } from './resultcells.js';
import { saveCsv, saveParquet } from './save.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('../data/result.js').Result} Result */
/** @typedef {import('./resultchart.js').Choice} Choice */

const VIEWS = /** @type {[string, string][]} */ ([['both', 'Table and chart'], ['table', 'Table'], ['chart', 'Chart']]);
const FILE = 'query';
const TABLE_HEIGHT = 420;

/**
 * @param {HTMLElement} host
 * @param {Context} context
 * @returns {{show: (result: Result, pages: Set<string>) => void, dim: (dimmed: boolean) => void, dispose: () => void}}
 */
export function createOutput(host, context) {
  /** @type {(() => void)[]} */
  let offs = [];
  const dispose = () => {
    offs.forEach(off => off());
    offs = [];
    clear(host);
  };
  return {
    show(result, pages) {
      dispose();
      offs = drawOutput(host, context, result, pages);
    },
    dim: dimmed => host.classList.toggle('query-old', dimmed),
    dispose,
  };
}

/**
 * @param {HTMLElement} host
 * @param {Context} context
 * @param {Result} result
 * @param {Set<string>} pages
 * @returns {(() => void)[]}
 */
function drawOutput(host, context, result, pages) {
  const { frame, more } = result;
  const rows = `${more ? 'the first ' : ''}${plural(frame.length, 'row')}`;
  const chosen = () => choiceOf(result, context);
  const can = chosen() !== null;
  const parts = el('div', { class: 'query-parts' });
  const svgButton = el('button', { type: 'button', class: 'button' }, 'SVG');
  const views = el('div', { class: 'segmented', role: 'group', 'aria-label': 'Shown' }, VIEWS.map(([id, label]) => el('button', {
    type: 'button', data: { view: id }, disabled: id !== 'table' && !can, title: id !== 'table' && !can ? 'A drawing needs two rows and a column of numbers.' : null,
    onClick: () => context.url.set({ view: id === 'both' ? null : id }, { push: true }),
  }, label)));
  fill(host, el('section', { class: 'section query-result', 'aria-label': 'Result' },
    el('div', { class: 'query-result-head' },
      el('h2', null, 'Result'), el('p', { class: 'note', role: 'status' }, frame.names.length ? rows : 'done'),
      el('div', { class: 'toolbar' }, views,
        el('button', { type: 'button', class: 'button', onClick: () => saveCsv(result, FILE) }, 'CSV'),
        el('button', { type: 'button', class: 'button', onClick: () => saveParquet(result, FILE) }, 'Parquet'), svgButton)),
    more ? el('p', { class: 'note' }, `There are more than ${count(frame.length)} rows; these are the first ones. Aggregate, or name what you look for.`) : null,
    parts));

  const table = createTable({
    label: 'Result', height: TABLE_HEIGHT, onHover: row => picture.mark(row),
    state: { columns: resultColumns(result, context, pages), length: frame.length, sort: null },
  });
  const picture = createPicture(result, context, row => {
    for (const one of table.node.querySelectorAll('tr.query-hover')) one.classList.remove('query-hover');
    if (row !== null) table.node.querySelector(`tr[data-row="${row}"]`)?.classList.add('query-hover');
  });
  svgButton.addEventListener('click', () => {
    const drawing = picture.node.querySelector('svg');
    if (drawing) downloadSvg(drawing, FILE);
  });
  const update = () => {
    const view = can ? context.url.get('view', 'both') : 'table';
    for (const button of views.children) button.setAttribute('aria-pressed', String(/** @type {HTMLElement} */ (button).dataset.view === view));
    parts.dataset.view = view;
    svgButton.disabled = view === 'table';
    fill(parts, view === 'chart' ? null : frame.length ? table.node : emptyResult(frame.names), view === 'table' ? null : picture.node);
    if (view !== 'table') picture.draw();
    table.update({});
  };
  update();
  return [context.url.onChange(update), () => table.dispose(), () => picture.dispose()];
}

/**
 * @param {string[]} names
 * @returns {HTMLElement}
 */
function emptyResult(names) {
  return el('div', { class: 'empty' }, el('p', { class: 'empty-title' }, 'No rows'),
    el('p', null, names.length ? `The query ran and found nothing. Columns: ${names.join(', ')}.` : 'The statement ran; it has no rows to show.'));
}

/**
 * The drawing that the link asks for, as far as the result has such columns.
 *
 * @param {Result} result
 * @param {Context} context
 * @returns {Choice | null}
 */
function choiceOf(result, context) {
  const guessed = guess(result);
  if (!guessed) return null;
  const x = context.url.get('x', guessed.x);
  const y = context.url.get('y', guessed.y);
  const chart = context.url.get('chart', '');
  const at = result.frame.names.includes(x) ? x : guessed.x;
  return {
    x: at,
    y: numberColumns(result).includes(y) ? y : guessed.y,
    kind: chart === 'bar' || chart === 'line' || chart === 'points' ? chart : kindFor(result, at),
  };
}

/**
 * @param {Result} result
 * @param {Context} context
 * @param {(row: number | null) => void} onHover
 * @returns {{node: HTMLElement, draw: () => void, mark: (row: number | null) => void, dispose: () => void}}
 */
function createPicture(result, context, onHover) {
  const plot = el('div', { class: 'query-plot' });
  const note = el('p', { class: 'caption' });
  const names = result.frame.names.map(name => ({ value: name, label: name }));
  const set = (/** @type {string} */ key) => (/** @type {string} */ chosen) => context.url.set({ [key]: chosen }, { push: true });
  const first = choiceOf(result, context);
  const kind = createSelect({ label: 'chart', value: first?.kind ?? 'bar', onChange: set('chart'), options: [
    { value: 'bar', label: 'bar' }, { value: 'line', label: 'line' }, { value: 'points', label: 'points' }] });
  const x = createSelect({ label: 'x', value: first?.x ?? '', onChange: set('x'), options: names });
  const y = createSelect({ label: 'y', value: first?.y ?? '', onChange: set('y'), options: numberColumns(result).map(name => ({ value: name, label: name })) });
  const node = el('div', { class: 'query-picture' }, el('div', { class: 'toolbar' }, kind.node, x.node, y.node), plot, note);
  /** @type {import('./resultchart.js').Drawing | null} */
  let drawing = null;
  let drawn = '';
  const draw = () => {
    const choice = choiceOf(result, context);
    const width = plot.clientWidth;
    const state = JSON.stringify([choice, width]);
    if (!choice || width < 80 || state === drawn) return;
    drawn = state;
    kind.set(choice.kind);
    x.set(choice.x);
    y.set(choice.y);
    drawing = drawResult(result, choice, { width });
    fill(plot, drawing.node);
    note.textContent = drawing.note;
  };
  const watcher = new ResizeObserver(draw);
  watcher.observe(plot);
  const offs = [
    on(plot, 'pointermove', event => {
      const box = plot.getBoundingClientRect();
      const row = drawing?.rowAt(event.clientX - box.left, event.clientY - box.top) ?? null;
      drawing?.mark(row);
      onHover(row);
    }),
    on(plot, 'pointerleave', () => {
      drawing?.mark(null);
      onHover(null);
    }),
  ];
  return {
    node,
    draw,
    mark: row => drawing?.mark(row),
    dispose() {
      watcher.disconnect();
      offs.forEach(off => off());
      [kind, x, y].forEach(select => select.dispose());
    },
  };
}
