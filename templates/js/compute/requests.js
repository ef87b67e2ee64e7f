/**
 * Lifecycles of requests on the time axis: queued, generating, waiting for a tool.
 *
 * @typedef {import('../types').Catalog} Catalog
 * @typedef {import('../types').Context} Context
 * @typedef {import('../step/lifecycles.js').Lifecycle} Lifecycle
 * @typedef {import('./overview.js').StepSpan} StepSpan
 * @typedef {import('./window.js').Span} Span
 *
 * @typedef {{lives: (Lifecycle & {step: number})[], steps: number[], problem: string}} Requests problem: "" or why none are shown
 */

import { readTable } from '../data/slices.js';
import { plural } from '../format.js';
import { token } from '../marks/points.js';
import { GEN_TOKENS, versionSteps } from '../marks/versions.js';
import { lifecycles } from '../step/lifecycles.js';

export const REQUESTS_HEIGHT = 132;

/** So many steps at once: of more the strips would be thinner than a pixel. */
const MOST_STEPS = 6;
const THICKEST = 5;
const COLUMNS = ['sample_index', 'kind', 't0', 't1', 'first_ts', 'last_ts', 'status', 'weight_version'];

/**
 * @param {Context} context
 * @param {Catalog} catalog
 * @param {StepSpan[]} steps of the run, by time
 * @param {Span} span
 * @returns {Promise<Requests>} by first event; rejects as readTable does
 */
export async function readRequests(context, catalog, steps, span) {
  const readable = new Set(catalog.steps.filter(step => !step.evaluation && step.catalog).map(step => step.step));
  const near = steps.filter(({ step, from, to }) => readable.has(step) && to >= span[0] && from - (to - from) <= span[1]);
  if (!near.length) return { lives: [], steps: [], problem: readable.size ? 'No step of this window is in the dump.' : '' };
  if (near.length > MOST_STEPS) return { lives: [], steps: [], problem: `Requests of ${plural(near.length, 'step')}: zoom in to at most ${MOST_STEPS} to see them.` };
  const found = await Promise.all(near.map(async ({ step }) => {
    const inner = await catalog.step(step, false);
    return lifecycles(await readTable(context, inner, 'trajectories', { columns: COLUMNS })).map(life => ({ ...life, step }));
  }));
  const lives = found.flat().filter(life => life.end >= span[0] && life.start <= span[1]);
  lives.sort((a, b) => a.start - b.start || a.index - b.index);
  return { lives, steps: near.map(({ step }) => step), problem: '' };
}

/**
 * @param {CanvasRenderingContext2D} pen cleared
 * @param {Requests} requests
 * @param {Span} span
 * @param {number} width
 */
export function drawRequests(pen, { lives }, [from, to], width) {
  const node = pen.canvas;
  const queue = token(node, '--l-queue');
  const tool = token(node, '--l-tool');
  const gens = GEN_TOKENS.map(name => token(node, name));
  const steps = versionSteps(lives.flatMap(life => life.versions));
  const pitch = Math.min(THICKEST + 1, REQUESTS_HEIGHT / Math.max(1, lives.length));
  const thick = pitch > 2 ? pitch - 1 : Math.max(pitch, 0.75);
  const scale = width / (to - from);
  lives.forEach((life, i) => {
    for (const kind of /** @type {const} */ (['attempt', 'gen', 'tool'])) {
      for (const one of life.spans) {
        if (one.kind !== kind || one.to < from || one.from > to) continue;
        pen.fillStyle = kind === 'attempt' ? queue : kind === 'tool' ? tool : gens[steps.get(one.version ?? '') ?? 0];
        const left = Math.max(0, (one.from - from) * scale);
        pen.fillRect(left, i * pitch, Math.max(0.75, Math.min(width, (one.to - from) * scale) - left), thick);
      }
    }
  });
}

/**
 * @param {Requests} requests
 * @param {number} y pixels from the top of the strip
 * @returns {(Lifecycle & {step: number}) | null}
 */
export function requestAt({ lives }, y) {
  const pitch = Math.min(THICKEST + 1, REQUESTS_HEIGHT / Math.max(1, lives.length));
  return lives[Math.floor(y / pitch)] ?? null;
}
