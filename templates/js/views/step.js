import { readTable } from '../data/slices.js';
import { fill, on } from '../dom.js';
import { mountAnatomy } from '../step/anatomy.js';
import { mountGroups } from '../step/groups.js';
import { mountSamples } from '../step/samples.js';
import { readState, stateChanges } from '../step/state.js';
import { failure } from '../ui/failure.js';
import { createTabs } from '../ui/tabs.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('../step/state.js').StepState} StepState */

/**
 * A step or an evaluation: samples, groups, lifecycles, distributions.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (root.querySelector(`[data-part="${name}"]`));
  const panels = /** @type {HTMLElement[]} */ ([...root.querySelectorAll('[data-tab]')]);
  const set = (/** @type {Partial<StepState>} */ changes) => context.url.set(stateChanges(changes, context.page), { push: true });
  const tabs = createTabs(part('tablist'), panels.map(panel => ({ id: panel.id, label: panel.dataset.tab ?? '', panel })), {
    selected: context.url.get('tab', 'samples'), label: 'Parts of the step', onSelect: tab => set({ tab }),
  });
  part('tabs').dataset.live = '';
  /** @type {(() => void)[]} */
  const offs = [context.url.onChange(() => tabs.select(context.url.get('tab', 'samples')))];
  let isOver = false;
  const load = () => open(part, context, set).then(
    close => (isOver ? close() : offs.push(close)),
    error => {
      context.log.warn('The step stays as the build drew it.', error);
      fill(part('filter'), failure(error, { what: 'Filter, sort and columns', retry: load }));
      fill(part('anatomy'), failure(error, { what: 'The lifecycles', retry: load }));
    },
  );
  load();
  return () => {
    isOver = true;
    offs.forEach(off => off());
  };
}

/**
 * @param {(name: string) => HTMLElement} part
 * @param {Context} context
 * @param {(changes: Partial<StepState>) => void} set
 * @returns {Promise<() => void>}
 */
async function open(part, context, set) {
  const catalog = await context.catalog();
  const frame = await readTable(context, catalog, 'samples');
  const given = { context, catalog, frame, set };
  const parts = [
    mountSamples({ filter: part('filter'), picture: part('picture'), head: part('table-head'), table: part('table') }, given),
    mountGroups(part('groups-head'), part('groups'), given),
    mountAnatomy(part('anatomy'), given),
  ];
  const update = () => {
    const state = readState(context.url, context.page, frame.names);
    for (const one of parts) one.update(state);
  };
  update();
  const samples = /** @type {ReturnType<typeof mountSamples>} */ (parts[0]);
  const offs = [
    context.url.onChange(update),
    on(document, 'keydown', event => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest('input, textarea, select, [contenteditable]')) return;
      event.preventDefault();
      if (context.url.get('tab', 'samples') !== 'samples') set({ tab: 'samples' });
      samples.focusFilter();
    }),
  ];
  return () => {
    offs.forEach(off => off());
    parts.forEach(one => one.dispose());
  };
}

