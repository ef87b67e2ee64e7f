/**
 * A search through all steps, one after the other; nothing that was read is kept.
 */

import { readSlice } from '../data/slices.js';
import { predicate } from '../step/match.js';
import { conversationSources, findWords, mayHold, textSources } from './texts.js';

/** @typedef {import('../types').Catalog} Catalog */
/** @typedef {import('../types').Context} Context */
/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('../types').Slice} Slice */
/** @typedef {import('../types').StepEntry} StepEntry */
/** @typedef {import('./terms.js').Search} Search */
/** @typedef {import('./texts.js').Found} Found */

/**
 * @typedef {object} Hit one sample
 * @property {number} step
 * @property {boolean} evaluation
 * @property {number} row
 * @property {Record<string, any>} sample its row of the samples table
 * @property {Found[]} found places of the words; none where only the filter chose it
 *
 * @typedef {object} Told how far a search is
 * @property {number} done steps
 * @property {number} all steps
 * @property {number} bytes read
 *
 * @typedef {object} Watch
 * @property {(hits: Hit[]) => void} onHits of one step, in order
 * @property {(told: Told) => void} onProgress
 * @property {(bytes: number) => Promise<boolean>} mayGoOn asked once when so many bytes have been read
 * @property {AbortSignal} signal
 */

/**
 * @param {Context} context
 * @param {Search} search
 * @param {number} askBytes
 * @param {Watch} watch
 * @returns {Promise<boolean>} whether every step was searched; rejects as readSlice does
 */
export async function runSearch(context, search, askBytes, { onHits, onProgress, mayGoOn, signal }) {
  const root = await context.catalog();
  const steps = root.steps.filter(entry => entry.catalog && wanted(search, entry));
  const told = { done: 0, all: steps.length, bytes: 0 };
  let asked = false;
  onProgress({ ...told });
  const read = async (/** @type {Slice} */ slice, /** @type {string[] | undefined} */ columns) => {
    if (!asked && told.bytes + slice.bytes > askBytes) {
      asked = true;
      if (!(await mayGoOn(told.bytes))) throw new DOMException('stopped', 'AbortError');
    }
    signal.throwIfAborted();
    const frame = await readSlice({ ...context, cache: new Map() }, slice, { columns });
    told.bytes += slice.bytes;
    onProgress({ ...told });
    await new Promise(resolve => { setTimeout(resolve); }); // lets the page draw and hear the stop button
    signal.throwIfAborted();
    return frame;
  };
  for (const entry of steps) {
    signal.throwIfAborted();
    const catalog = await root.step(entry.step, entry.evaluation);
    const hits = await searchStep(catalog, entry, search, read);
    told.done += 1;
    if (hits.length) onHits(hits);
    onProgress({ ...told });
  }
  return true;
}

/**
 * @param {Search} search
 * @param {StepEntry} entry
 * @returns {boolean} whether a sample of that step can be meant
 */
export function wanted({ terms }, { step, evaluation }) {
  const about = terms.filter(term => term.column === 'step' || term.column === 'evaluation');
  return predicate(about, { length: 1, names: ['step', 'evaluation'], columns: { step: [step], evaluation: [evaluation] } }, null)(0);
}

/**
 * @param {Catalog} catalog
 * @param {StepEntry} entry
 * @param {Search} search
 * @param {(slice: Slice, columns?: string[]) => Promise<Frame>} read
 * @returns {Promise<Hit[]>}
 */
async function searchStep(catalog, { step, evaluation }, { terms, words }, read) {
  /** @type {Map<number, Record<string, any>>} */
  const samples = new Map();
  for (const slice of catalog.slices('samples')) {
    const frame = await read(slice);
    const test = predicate(terms, frame, null);
    for (let i = 0; i < frame.length; i++) {
      if (test(i)) samples.set(frame.columns.row[i], Object.fromEntries(frame.names.map(name => [name, frame.columns[name][i]])));
    }
  }
  /** @type {(row: number, found: Found[]) => Hit} */
  const hit = (row, found) => ({ step, evaluation, row, sample: /** @type {Record<string, any>} */ (samples.get(row)), found });
  if (!words.length) return [...samples.keys()].map(row => hit(row, []));
  if (!samples.size) return [];

  /** @type {Map<number, string>} */
  const talks = new Map();
  for (const slice of slicesOf(catalog, 'conversations', samples)) {
    const frame = await read(slice, ['row', 'messages']);
    for (let i = 0; i < frame.length; i++) {
      if (samples.has(frame.columns.row[i]) && frame.columns.messages[i] !== null) talks.set(frame.columns.row[i], frame.columns.messages[i]);
    }
  }
  /** @type {Map<number, Found[] | null>} */
  const results = new Map();
  const look = (/** @type {number} */ row, /** @type {string | null} */ prompt, /** @type {string | null} */ response) => {
    const messages = talks.get(row) ?? null;
    const recorded = `${messages ?? ''}\n${prompt ?? ''}\n${response ?? ''}`;
    if (!mayHold(recorded, words)) return null;
    const said = messages === null ? [] : conversationSources(messages);
    const inTalk = said.length ? findWords(said, words) : null;
    const all = [...said, ...textSources(prompt, response, messages === null)];
    if (words.some(word => word.negated) && !findWords(all, words)) return null;
    return inTalk?.length ? inTalk : findWords(all, words);
  };
  for (const slice of slicesOf(catalog, 'texts', samples)) {
    const frame = await read(slice, ['row', 'prompt', 'response']);
    for (let i = 0; i < frame.length; i++) {
      const row = frame.columns.row[i];
      if (samples.has(row)) results.set(row, look(row, frame.columns.prompt?.[i] ?? null, frame.columns.response?.[i] ?? null));
    }
  }
  for (const row of talks.keys()) if (!results.has(row)) results.set(row, look(row, null, null));
  return [...samples.keys()].flatMap(row => {
    const found = results.get(row);
    return found ? [hit(row, found)] : [];
  });
}

/**
 * @param {Catalog} catalog
 * @param {string} table
 * @param {Map<number, any>} samples by row
 * @returns {Slice[]} those that can hold one of the samples
 */
function slicesOf(catalog, table, samples) {
  const rows = [...samples.keys()];
  return catalog.slices(table).filter(({ keys }) => !keys.row || rows.some(row => keys.row[0] <= row && row <= keys.row[1]));
}
