/**
 * The Compute page: the lanes of any window, chosen on the drawn overview, by words, picks and links.
 */

import { readBase } from '../compute/data.js';
import { createBoard } from '../compute/board.js';
import { momentText } from '../compute/clock.js';
import { isWord, parseLanes } from '../compute/grammar.js';
import { mountOverview } from '../compute/overview.js';
import { mountStepBars } from '../compute/stepbars.js';
import { orderedMetrics, readState, writeState } from '../compute/state.js';
import { createToolbar } from '../compute/toolbar.js';
import { isWhole, kept } from '../compute/window.js';
import { on } from '../dom.js';
import { plural, seconds } from '../format.js';
import { failure } from '../ui/failure.js';

/**
 * @typedef {import('../types').Context} Context
 * @typedef {import('../compute/data.js').Base} Base
 * @typedef {import('../compute/lanes.js').Row} Row
 * @typedef {import('../compute/window.js').Span} Span
 */

/** A wheel turns faster than browsers let addresses change. */
const WRITE_PAUSE_MS = 80;

/**
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  const host = root.querySelector('[data-lanes]');
  if (!(host instanceof HTMLElement)) return () => {};
  let isOver = false;
  /** @type {() => void} */
  let dispose = () => {};
  readBase(context).then(
    base => {
      if (!isOver) dispose = show(root, host, context, base);
    },
    error => {
      context.log.warn('The lanes cannot be read.', error);
      if (!isOver) host.replaceChildren(failure(error, { what: 'The lanes and their zoom', retry: () => location.reload() }));
    });
  return () => {
    isOver = true;
    dispose();
  };
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} host
 * @param {Context} context
 * @param {Base} base
 * @returns {() => void}
 */
function show(root, host, context, base) {
  const { start, end, most_lanes: most, most_chosen: limit, chosen } = context.page;
  /** @type {Span} */
  const whole = [start, end];
  const metrics = orderedMetrics(base.metrics);
  let state = readState(context.url, whole, metrics);
  const note = root.querySelector('[data-lanes-note]');
  let timer = 0;
  const write = (push = false) => {
    clearTimeout(timer);
    context.url.set(writeState(state, whole, metrics), { push });
  };
  const change = (/** @type {Partial<typeof state>} */ part, push = false) => {
    state = { ...state, ...part };
    write(push);
    render();
  };
  const setSpan = (/** @type {Span} */ span, push = false) => change({ span: kept(span, whole) }, push);
  const follow = (/** @type {Span} */ span) => {
    state = { ...state, span: kept(span, whole) };
    clearTimeout(timer);
    timer = window.setTimeout(write, WRITE_PAUSE_MS);
    render();
  };
  const board = createBoard(context, base, { whole, onFollow: follow, onSpan: span => setSpan(span, true) });
  const toolbar = createToolbar({ metrics, hasGpus: base.hasGpus, onChange: part => change(part), onReset: () => setSpan(whole, true) });
  const moment = (/** @type {number} */ time) => momentText(time, state.utc ? 0 : start);
  const figure = root.querySelector('figure[data-figure="compute-overview"]');
  const overview = figure instanceof HTMLElement
    ? mountOverview(figure, { whole, end, steps: base.steps, tooltip: board.tooltip, moment, onSpan: span => setSpan(span, true) }) : null;

  function render() {
    const { rows, words } = chosenRows(base.rows, state.lanes, { most, limit, usual: chosen });
    if (note) note.textContent = words;
    const [from, to] = state.span;
    toolbar.show(state, { window: `${moment(from)} – ${moment(to)} (${seconds(to - from)})`, whole: isWhole(state.span, whole) });
    overview?.show(state.span);
    board.show(state, rows);
  }

  const offBars = mountStepBars(root.querySelector('figure[data-figure="compute-steps"]'), context.page.bars, ([, from, to]) => {
    setSpan([start + from, start + to], true);
    host.scrollIntoView({ block: 'nearest' });
  });
  host.replaceChildren(toolbar.node, board.node);
  render();
  const offs = [
    context.url.onChange(() => {
      const next = readState(context.url, whole, metrics);
      if (JSON.stringify(writeState(next, whole, metrics)) === JSON.stringify(writeState(state, whole, metrics))) return;
      state = next;
      render();
    }),
    on(root, 'click', event => {
      const link = /** @type {Element} */ (event.target).closest?.('a[data-lane], a[data-window]');
      if (!(link instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const { lane, window: span } = link.dataset;
      if (lane) change({ lanes: [...new Set([...state.lanes, lane])] }, true);
      if (span) change({ span: readState({ get: name => (name === 't' ? span : null) }, whole, metrics).span }, true);
      host.scrollIntoView({ block: 'nearest' });
    }),
  ];
  return () => {
    clearTimeout(timer);
    offBars();
    offs.forEach(off => off());
    overview?.dispose();
    board.dispose();
  };
}

/**
 * The rows to draw in the order of the words, and the words that say which they are.
 *
 * @param {Row[]} all
 * @param {string[]} words of the grammar; none for the usual choice
 * @param {{most: number, limit: number, usual: string[]}} settings most: up to so many all are drawn; limit: of more
 *   so many at once; usual: words for a larger fleet
 * @returns {{rows: Row[], words: string}}
 */
export function chosenRows(all, words, { most, limit, usual }) {
  const isFleet = all.length > most;
  const own = words.length ? words : isFleet ? usual : [];
  const good = own.filter(isWord);
  const wordOf = own.length && !good.length ? () => -1 : parseLanes(good);
  const placed = all.map(row => ({ row, place: wordOf(row.asked) })).filter(({ place }) => place >= 0);
  const found = placed.sort((a, b) => a.place - b.place).map(({ row }) => row);
  const rows = isFleet ? found.slice(0, limit) : found;
  if (!found.length) return { rows, words: 'no lane matches' };
  if (rows.length === all.length) return { rows, words: plural(rows.length, 'lane') };
  const why = words.length ? '' : ': those that stand out, and one of each node';
  if (rows.length < found.length) return { rows, words: `the first ${rows.length} of ${found.length} chosen, of ${plural(all.length, 'lane')}: choose fewer to see the others` };
  return { rows, words: `${rows.length} of ${plural(all.length, 'lane')}${why}` };
}

