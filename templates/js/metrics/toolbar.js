import { el, on } from '../dom.js';
import { createSegmented } from '../ui/segmented.js';
import { MAX_SMOOTHING } from './state.js';

/**
 * @typedef {import('./state.js').State} State
 */

const FILTER_PAUSE_MS = 150;

/**
 * The controls over the charts.
 *
 * @param {{state: State, hasFaults: boolean, onChange: (change: Partial<State>) => void, onCsv: () => void}} settings hasFaults: shades
 *   are drawn where an engine was down
 * @returns {{node: HTMLElement, show: (state: State) => void, dispose: () => void}}
 */
export function createToolbar({ state, hasFaults, onChange, onCsv }) {
  let timer = 0;
  const filter = el('input', { type: 'search', placeholder: 'Filter keys, e.g. lp or reward', value: state.filter, 'aria-label': 'Filter keys', autocomplete: 'off', spellcheck: 'false' });
  const slider = el('input', { type: 'range', min: 0, max: MAX_SMOOTHING, step: 0.01, value: state.smoothing, 'aria-label': 'Smoothing' });
  const amount = el('output', { class: 'metric-amount' });
  const scale = createSegmented('Scale of y', [['linear', 'Linear'], ['log', 'Log']], value => onChange({ log: value === 'log' }));
  const axis = createSegmented('x axis', [['step', 'Step'], ['time', 'Time']], value => onChange({ axis: value === 'time' ? 'time' : 'step', zoom: null }));
  const columns = createSegmented('Columns', [['2', '2 columns'], ['3', '3']], value => onChange({ columns: value === '2' ? 2 : 3 }));
  const reset = el('button', { class: 'button', type: 'button', onClick: () => onChange({ zoom: null }) }, 'Reset zoom');
  const hint = el('span', { class: 'muted metric-hint' });
  const node = el('div', { class: 'toolbar metric-toolbar', role: 'group', 'aria-label': 'Charts' },
    el('label', { class: 'field filter metric-filter' }, filter, el('kbd', { 'aria-hidden': 'true' }, '/')),
    el('label', { class: 'field metric-smoothing' }, el('span', { class: 'muted' }, 'smoothing'), slider, amount),
    scale.node, axis.node, columns.node, reset,
    el('span', { class: 'spring' }), hint,
    el('button', { class: 'button', type: 'button', title: 'Every logged value of the keys below', onClick: onCsv }, 'CSV'));
  const offs = [
    on(filter, 'input', () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => onChange({ filter: filter.value.trim() }), FILTER_PAUSE_MS);
    }),
    on(slider, 'input', () => onChange({ smoothing: Number(slider.value) })),
    on(document, 'keydown', event => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target?.tagName ?? '')) return;
      event.preventDefault();
      filter.focus();
    }),
  ];
  const show = (/** @type {State} */ next) => {
    if (document.activeElement !== filter) filter.value = next.filter;
    slider.value = String(next.smoothing);
    amount.textContent = next.smoothing.toFixed(2);
    scale.show(next.log ? 'log' : 'linear');
    axis.show(next.axis);
    columns.show(String(next.columns));
    reset.hidden = !next.zoom;
    hint.textContent = next.smoothing ? 'Bold: smoothed; faint: as logged' : hasFaults ? 'Drag zooms; shaded: an engine was down' : 'Drag to zoom, double click to reset';
  };
  show(state);
  return {
    node, show,
    dispose() {
      clearTimeout(timer);
      offs.forEach(off => off());
    },
  };
}
