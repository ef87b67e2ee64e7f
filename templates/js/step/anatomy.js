/**
 * The Anatomy tab: the life of every request of the batch, one thin row a sample, by start.
 */

import { readTable } from '../data/slices.js';
import { el, fill, svg } from '../dom.js';
import { count, elapsed, plural, seconds } from '../format.js';
import { xAxis } from '../marks/axis.js';
import { sharpCanvas, token } from '../marks/points.js';
import { timeScale } from '../marks/scale.js';
import { GEN_TOKENS, stepLegend, stepWords, versionSteps } from '../marks/versions.js';
import { failure } from '../ui/failure.js';
import { createTooltip, tooltipRows } from '../ui/tooltip.js';
import { sampleHref } from './columns.js';
import { lifecycles } from './lifecycles.js';

/** @typedef {import('./lifecycles.js').Lifecycle} Lifecycle */

const TALLEST = 8;
const LOWEST = 2;
const MOST = 12_000;
const GOAL = 560;
const AXIS = 26;

/**
 * @param {HTMLElement} box
 * @param {Parameters<typeof import('./samples.js').mountSamples>[1]} given
 * @returns {{update: (state: import('./state.js').StepState) => void, dispose: () => void}}
 */
export function mountAnatomy(box, { context, catalog, frame }) {
  const tooltip = createTooltip();
  let asked = false;
  /** @type {(() => void) | null} */
  let draw = null;
  const watcher = new ResizeObserver(() => requestAnimationFrame(() => draw?.()));
  const repaint = () => draw?.();
  document.addEventListener('themechange', repaint);

  const load = async () => {
    asked = true;
    const spans = await readTable(context, catalog, 'trajectories');
    if (!spans.length) return empty(box, context.page.lifecycles);
    const lives = lifecycles(spans);
    /** @type {Map<number, number>} */
    const rowOf = new Map();
    for (let row = frame.length - 1; row >= 0; row--) rowOf.set(frame.columns.sample_index[row], row);
    draw = drawing(box, lives, { tooltip, open: index => {
      const row = rowOf.get(index);
      if (row !== undefined) location.href = context.href(sampleHref(context.page.step, frame.columns.row[row], context.page.evaluation));
    }, status: index => frame.columns.status?.[rowOf.get(index) ?? -1] ?? null });
    draw();
    watcher.observe(box);
  };
  const tryLoad = () => load().catch(error => {
    asked = false;
    fill(box, failure(error, { what: 'The lifecycles', retry: tryLoad }));
  });
  return {
    update(state) {
      if (state.tab !== 'anatomy') return;
      if (!asked) tryLoad();
      else draw?.();
    },
    dispose() {
      watcher.disconnect();
      tooltip.dispose();
      document.removeEventListener('themechange', repaint);
    },
  };
}

/** @param {HTMLElement} box @param {string} hint */
function empty(box, hint) {
  fill(box, el('div', { class: 'empty' },
    el('p', { class: 'empty-title' }, 'No lifecycles of this step'),
    el('p', null, 'Here stands when each request was queued, generating or waiting on a tool.'),
    el('p', null, hint)));
}

/**
 * @param {HTMLElement} box
 * @param {Lifecycle[]} lives by start
 * @param {{tooltip: ReturnType<typeof createTooltip>, open: (index: number) => void, status: (index: number) => string | null}} tools
 * @returns {() => void} draws it at the width the box has now
 */
function drawing(box, lives, { tooltip, open, status }) {
  const start = Math.min(...lives.map(life => life.start));
  const end = lives.reduce((latest, life) => Math.max(latest, life.end), start);
  const height = Math.max(LOWEST, Math.min(TALLEST, Math.floor(GOAL / lives.length)));
  const shown = lives.slice(0, Math.floor(MOST / height));
  const size = shown.length * height;
  const steps = versionSteps(lives.flatMap(life => life.versions));
  const canvas = el('canvas', { class: 'step-lives', role: 'img', 'aria-label': `Lifecycles of ${plural(shown.length, 'request')}, by start`, tabindex: 0 });
  const axis = svg('svg', { class: 'marks', height: AXIS });
  fill(box,
    el('div', { class: 'step-table-head' },
      el('h3', null, plural(lives.length, 'request')),
      el('p', { class: 'note' }, `by start, over ${seconds(end - start)}; hover tells, a click opens the sample`),
      el('span', { class: 'spring' }),
      el('p', { class: 'caption step-legend' }, key('queue', 'queued'), generatingKeys(steps), key('tool', 'waiting on a tool'))),
    el('div', { class: 'step-lives-box' }, canvas, axis),
    shown.length < lives.length ? el('p', { class: 'note' }, `The first ${count(shown.length)} of ${count(lives.length)} by start.`) : null);
  const at = (/** @type {PointerEvent} */ event) => shown[Math.floor((event.clientY - canvas.getBoundingClientRect().top) / height)];
  canvas.onpointermove = event => {
    const life = at(event);
    if (!life) return tooltip.hide();
    tooltip.show({ left: event.clientX, top: event.clientY }, el('div', { class: 'tooltip-head' }, `Sample ${life.index}`), tooltipRows([
      { label: 'Status', value: status(life.index) ?? life.status ?? 'not ended' },
      { label: 'Began', value: elapsed(life.start - start) },
      { label: 'Took', value: seconds(life.end - life.start) },
      { label: 'Queued', value: seconds(life.queued) },
      { label: 'Generating', value: seconds(life.generating) },
      { label: 'On tools', value: seconds(life.tool) },
      { label: 'Weights', value: life.versions.length ? life.versions.map(version => `v${version}`).join(', ') : 'not recorded' },
    ]));
  };
  canvas.onpointerleave = () => tooltip.hide();
  canvas.onclick = event => {
    const life = at(/** @type {PointerEvent} */ (event));
    if (life) open(life.index);
  };
  return () => {
    const width = Math.max(200, box.clientWidth);
    if (!box.isConnected || box.clientWidth === 0) return;
    const x = timeScale([0, Math.max(1e-3, end - start)], [0, width - 8]);
    const pen = sharpCanvas(canvas, width, size);
    const paint = (/** @type {string} */ name, /** @type {Lifecycle['spans']} */ spans, /** @type {number} */ top, /** @type {number} */ tall) => {
      pen.fillStyle = token(canvas, name);
      for (const span of spans) pen.fillRect(x(span.from - start), top, Math.max(0.75, x(span.to - start) - x(span.from - start)), tall);
    };
    const gap = height > 3 ? 1 : 0;
    shown.forEach((life, i) => {
      const top = i * height;
      const of = (/** @type {string} */ kind) => life.spans.filter(span => span.kind === kind);
      paint('--l-queue', of('attempt'), top, height - gap);
      GEN_TOKENS.forEach((name, step) => paint(name, of('gen').filter(span => (steps.get(span.version ?? '') ?? 0) === step), top, height - gap));
      paint('--l-tool', of('tool'), top + height * 0.25, Math.max(1, height * 0.5 - gap / 2));
    });
    axis.setAttribute('width', String(width));
    fill(axis, xAxis(x, 0.5, { count: Math.max(2, Math.min(8, Math.floor(width / 110))) }));
    const first = axis.querySelector('text');
    first?.setAttribute('text-anchor', 'start');
    first?.setAttribute('x', '0');
  };
}

/**
 * @param {Map<string, number>} steps of hue by weight version
 * @returns {HTMLElement[]} one a step, which says its versions where there are several
 */
function generatingKeys(steps) {
  if (steps.size < 2) return [key('gen', 'generating')];
  return stepLegend(steps).map(({ step, versions }) => key(step ? `gen step-${step}` : 'gen', `${step ? '' : 'generating, '}${stepWords(versions)}`));
}

/** @param {string} kind @param {string} words @returns {HTMLElement} */
function key(kind, words) {
  return el('span', { class: 'step-key' }, el('i', { class: `step-life ${kind}` }), words);
}
