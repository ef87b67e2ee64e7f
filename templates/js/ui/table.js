import { clear, el, fill, on } from '../dom.js';

/**
 * @typedef {import('../dom.js').Child} Child
 * @typedef {{name: string, descending: boolean}} Sort
 *
 * @typedef {object} TableColumn
 * @property {string} name
 * @property {Child} label of its header
 * @property {boolean} [numeric] right-aligned
 * @property {boolean} [sortable] true if left out
 * @property {string} [title] of its header: what the column means
 * @property {string} [class] of its cells
 * @property {(row: number) => Child | Child[]} cell content; a row is a number below `length`
 *
 * @typedef {object} TableState
 * @property {TableColumn[]} columns
 * @property {number} length rows, in the order shown
 * @property {Sort | null} sort
 * @property {(row: number) => boolean} [selected]
 *
 * @typedef {object} TableOptions
 * @property {string} label for readers of screens
 * @property {TableState} state
 * @property {number} [height] pixels it may take before it scrolls inside; endless if left out
 * @property {(name: string) => void} [onSort] a header was pressed
 * @property {(row: number, event: Event) => void} [onOpen] Enter or a press on a row
 * @property {(row: number) => void} [onPin] Space on a row
 * @property {(row: number | null) => void} [onHover] null: none
 */

/** Pixels of a row. */
export const ROW = 28;
const MARGIN = 12;
const WHOLE = 120;

/**
 * A table that holds only the rows in view: a header that stays, sorting, arrow keys.
 * Up to 120 rows without `height` are all there; more are drawn as the page or the box scrolls.
 *
 * @param {TableOptions} options
 * @returns {{node: HTMLElement, update: (state: Partial<TableState>) => void, reveal: (row: number) => void, dispose: () => void}}
 *   reveal: scrolls a row into view and puts the focus on it
 */
export function createTable({ label, state, height, onSort, onOpen, onPin, onHover }) {
  const head = el('thead');
  const body = el('tbody');
  const table = el('table', { class: 'data sticky', 'aria-label': label }, head, body);
  const node = el('div', { class: height ? 'virtual' : 'table-box', style: height ? { 'max-height': `${height}px` } : null }, table);
  let current = 0;
  let drawn = { first: -1, last: -1 };
  /** @type {Map<string, number>} */
  const widths = new Map();

  /** Header cells keep the greatest width seen, so that columns don't jump while scrolling. */
  const settle = () => {
    [...head.querySelectorAll('th')].forEach((cell, i) => {
      const column = state.columns[i];
      const width = Math.max(widths.get(column.name) ?? 0, cell.offsetWidth);
      widths.set(column.name, width);
      cell.style.width = `${width}px`;
    });
  };
  const drawHead = () => {
    const cells = state.columns.map(column => el('th', {
      scope: 'col', class: column.numeric ? 'num' : null, title: column.title,
      'aria-sort': state.sort?.name === column.name ? (state.sort.descending ? 'descending' : 'ascending') : null,
    }, column.sortable === false || !onSort ? column.label : el('button', { type: 'button', onClick: () => onSort(column.name) }, column.label)));
    const focused = [...head.querySelectorAll('th')].findIndex(cell => cell.contains(document.activeElement));
    fill(head, el('tr', null, cells));
    cells[focused]?.querySelector('button')?.focus({ preventScroll: true });
  };
  const drawBody = (/** @type {boolean} */ force) => {
    const range = inView(node, table, state.length, height);
    if (!force && range.first === drawn.first && range.last === drawn.last) return;
    const focused = body.contains(document.activeElement);
    drawn = range;
    clear(body);
    body.append(spacer(range.first, state.columns.length));
    for (let row = range.first; row < range.last; row++) body.append(drawRow(row));
    body.append(spacer(state.length - range.last, state.columns.length));
    if (focused) rowNode(current)?.focus({ preventScroll: true });
    if (height && state.length && node.isConnected) settle();
  };
  const drawRow = (/** @type {number} */ row) => el('tr', {
    tabindex: row === current ? 0 : -1, 'aria-rowindex': row + 2, data: { row }, class: state.selected?.(row) ? 'selected' : null,
  }, state.columns.map(column => el('td', { class: [column.numeric ? 'num' : '', column.class ?? ''].join(' ').trim() || null }, column.cell(row))));
  const rowNode = (/** @type {number} */ row) => /** @type {HTMLElement | null} */ (body.querySelector(`tr[data-row="${row}"]`));
  const reveal = (/** @type {number} */ row) => {
    current = Math.max(0, Math.min(state.length - 1, row));
    if (height) {
      const headHeight = head.offsetHeight;
      const top = current * ROW;
      if (top < node.scrollTop) node.scrollTop = top;
      else if (top + ROW + headHeight > node.scrollTop + node.clientHeight) node.scrollTop = top + ROW + headHeight - node.clientHeight;
    }
    drawBody(true);
    const target = rowNode(current);
    target?.focus({ preventScroll: Boolean(height) });
  };
  const rowOf = (/** @type {Event} */ event) => {
    const found = /** @type {Element} */ (event.target).closest?.('tr[data-row]');
    return found ? Number(/** @type {HTMLElement} */ (found).dataset.row) : null;
  };

  let wide = 0;
  let waiting = 0;
  const scrolled = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => drawBody(false));
  };
  const offs = [
    on(height ? node : window, 'scroll', scrolled, { passive: true }),
    on(window, 'resize', scrolled),
    on(body, 'keydown', event => {
      const row = rowOf(event);
      if (row === null || event.altKey || event.ctrlKey || event.metaKey) return;
      const to = nextRow(event.key, row, state.length);
      if (to !== null) reveal(to);
      else if (event.key === 'Enter' && event.target.matches('tr')) onOpen?.(row, event);
      else if (event.key === ' ' && event.target.matches('tr') && onPin) onPin(row);
      else return;
      event.preventDefault();
    }),
    on(body, 'click', event => {
      const row = rowOf(event);
      if (row === null || event.target.closest('a, button, input') || getSelection()?.toString()) return;
      current = row;
      onOpen?.(row, event);
    }),
    on(body, 'pointerover', event => onHover?.(rowOf(event))),
    on(body, 'pointerleave', () => onHover?.(null)),
  ];
  const update = (/** @type {Partial<TableState>} */ change) => {
    const shape = change.columns || change.sort !== undefined;
    state = { ...state, ...change };
    table.setAttribute('aria-rowcount', String(state.length + 1));
    if (change.columns) widths.clear();
    if (shape) drawHead();
    if (current >= state.length) current = 0;
    drawBody(true);
  };
  drawHead();
  update({});
  const watcher = new ResizeObserver(() => {
    if (node.clientWidth !== wide) {
      wide = node.clientWidth;
      widths.clear();
      drawHead();
      drawn = { first: -1, last: -1 };
    }
    scrolled();
  });
  watcher.observe(node);
  return {
    node,
    update,
    reveal,
    dispose() {
      cancelAnimationFrame(waiting);
      watcher.disconnect();
      offs.forEach(off => off());
      node.remove();
    },
  };
}

/**
 * @param {HTMLElement} node
 * @param {HTMLElement} table
 * @param {number} length
 * @param {number} [height]
 * @returns {{first: number, last: number}} rows to draw, last excluded
 */
function inView(node, table, length, height) {
  if (!height && length <= WHOLE) return { first: 0, last: length };
  const top = height ? node.scrollTop : -table.getBoundingClientRect().top;
  const size = height ? Math.max(node.clientHeight, height) : window.innerHeight;
  return rowsBetween(top - ROW, size + ROW, length);
}

/**
 * The rows that a window over them shows, with a few more on both sides.
 *
 * @param {number} top pixels above the window
 * @param {number} size pixels of the window
 * @param {number} length of all rows
 * @returns {{first: number, last: number}} last excluded; in steps of a margin, so that few scrolls redraw
 */
export function rowsBetween(top, size, length) {
  const first = Math.floor(Math.max(0, top) / ROW / MARGIN) * MARGIN - MARGIN;
  const last = Math.ceil((Math.max(0, top) + size) / ROW / MARGIN) * MARGIN + MARGIN;
  const end = Math.min(length, Math.max(0, last));
  return { first: Math.min(Math.max(0, first), end), last: end };
}

/**
 * @param {string} key
 * @param {number} row
 * @param {number} length
 * @returns {number | null} the row that a key leads to; null for other keys
 */
export function nextRow(key, row, length) {
  const moves = /** @type {Record<string, number>} */ ({
    ArrowDown: row + 1, ArrowUp: row - 1, PageDown: row + 20, PageUp: row - 20, Home: 0, End: length - 1,
  });
  return key in moves ? Math.max(0, Math.min(length - 1, moves[key])) : null;
}

/**
 * @param {number} rows
 * @param {number} columns
 * @returns {HTMLTableRowElement}
 */
function spacer(rows, columns) {
  const space = el('td', { colspan: columns, style: { height: `${Math.max(0, rows) * ROW}px` } });
  return el('tr', { class: 'spacer', 'aria-hidden': 'true', hidden: rows <= 0 }, space);
}
