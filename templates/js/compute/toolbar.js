/**
 * The controls over the lanes: clock, readings, overlay, and the words that choose lanes.
 *
 * @typedef {import('./state.js').State} State
 */

import { el, fill, on } from '../dom.js';
import { createSegmented } from '../ui/segmented.js';
import { LaneError, laneWords, parseLanes } from './grammar.js';
import { READINGS } from './state.js';

const ID = 'compute-lane-error';
const HELP = 'g:0-31, rank:5, node:<ip>, gpu:<node>:<i>, engine:<text>, role:train, every:8, all';

/**
 * @param {{metrics: string[], hasGpus: boolean, onChange: (change: Partial<State>) => void, onReset: () => void}} settings
 * @returns {{node: HTMLElement, show: (state: State, words: {window: string, whole: boolean}) => void}}
 */
export function createToolbar({ metrics, hasGpus, onChange, onReset }) {
  /** @type {State | null} */
  let now = null;
  const clock = createSegmented('Clock', [['elapsed', 'Elapsed'], ['utc', 'UTC']], value => onChange({ utc: value === 'utc' }));
  const readings = createSegmented('Readings', READINGS, value => {
    const name = /** @type {import('./state.js').Reading} */ (value);
    const shown = now?.shown ?? [];
    const next = shown.includes(name) ? shown.filter(one => one !== name) : [...shown, name];
    onChange({ shown: READINGS.map(([one]) => one).filter(one => next.includes(one)) });
  });
  const overlay = el('select', { 'aria-label': 'Engine metric over the lanes', onChange: () => onChange({ overlay: overlay.value || null }) },
    metrics.map(name => el('option', { value: name }, name)), el('option', { value: '' }, 'none'));
  const chips = el('span', { class: 'compute-chips' });
  const box = el('input', { type: 'text', placeholder: 'add, e.g. rank:5', 'aria-label': 'Lanes to show', title: HELP, autocomplete: 'off', spellcheck: 'false', 'aria-describedby': ID });
  const field = el('div', { class: 'field compute-lanes' }, el('span', { class: 'muted' }, 'lanes'), chips, box);
  const trouble = el('p', { class: 'field-error', id: ID, role: 'alert', hidden: true });
  const span = el('span', { class: 'compute-window num' });
  const reset = el('button', { class: 'button', type: 'button', onClick: onReset }, 'Whole run');
  const node = el('div', null,
    el('div', { class: 'toolbar compute-toolbar', role: 'group', 'aria-label': 'Lanes' },
      clock.node, hasGpus ? readings.node : null,
      metrics.length ? el('label', { class: 'field' }, el('span', { class: 'muted' }, 'overlay'), overlay) : null,
      field, span, reset),
    trouble);

  const commit = () => {
    const added = laneWords(box.value);
    if (!added.length) return complain('');
    try {
      parseLanes(added);
    } catch (error) {
      if (!(error instanceof LaneError)) throw error;
      return complain(error.message);
    }
    box.value = '';
    complain('');
    onChange({ lanes: [...new Set([...(now?.lanes ?? []), ...added])] });
  };
  const complain = (/** @type {string} */ message) => {
    trouble.textContent = message;
    trouble.hidden = !message;
    if (message) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
  };
  on(box, 'keydown', event => {
    if (event.key === 'Enter') {
      event.preventDefault();
      commit();
    } else if (event.key === 'Backspace' && !box.value && now?.lanes.length) {
      onChange({ lanes: now.lanes.slice(0, -1) });
    }
  });
  on(box, 'change', commit);
  return {
    node,
    show(state, { window, whole }) {
      now = state;
      clock.show(state.utc ? 'utc' : 'elapsed');
      readings.show(...state.shown);
      overlay.value = state.overlay ?? '';
      span.textContent = window;
      reset.hidden = whole;
      fill(chips, state.lanes.map(word => el('span', { class: 'chip' }, word,
        el('button', { type: 'button', 'aria-label': `Remove ${word}`, onClick: () => onChange({ lanes: state.lanes.filter(other => other !== word) }) }, '×'))));
      let problem = '';
      try {
        parseLanes(state.lanes);
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      if (problem) complain(problem);
      else if (!box.value) complain('');
    },
  };
}
