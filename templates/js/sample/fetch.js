/** Any sample from the slices of its step, in the shape of an own page's payload. */

import { rowOf, takeRows } from '../data/frame.js';
import { readTable } from '../data/slices.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('../types').Catalog} Catalog */

/** @type {Frame} */
const NOTHING = { length: 0, names: [], columns: {} };
const DROPPED = new Set(['step', 'evaluation', 'row', 'sample_index', 'position', 'token_text', 'in_response', 'imp_ratio']);
const SPAN_COLUMNS = ['kind', 't0', 't1', 'turn', 'weight_version', 'status'];
const SIBLING_COLUMNS = ['row', 'sample_index', 'reward_value', 'response_length', 'status'];

/** What the address asks for cannot be shown; `message` is for the reader. */
export class RequestError extends Error {
  /**
   * @param {string} message
   * @param {{text: string, row: number}[]} [choices]
   */
  constructor(message, choices = []) {
    super(message);
    this.choices = choices;
  }
}

/** @typedef {Record<string, unknown>} Troubles why a table cannot be had, by its name; empty where all are there */

/**
 * @param {Context} context
 * @returns {Promise<{payload: any, troubles: Troubles}>} of what could be had; rejects with RequestError, and where the
 *   sample itself cannot be found with SliceError or FileProtocolError
 */
export async function fetchPayload(context) {
  const step = wholeNumber(context, 'step');
  if (step === null) {
    throw new RequestError('The address names no sample: it needs ?step= and &row=.');
  }
  const root = await context.catalog();
  const catalog = await root.step(step, context.url.get('eval') === '1');
  const samples = await readTable(context, catalog, 'samples');
  const at = sampleRow(context, samples);
  const sample = rowOf(samples, at);
  const where = { row: Number(sample.row) };
  /** @type {Troubles} */
  const troubles = {};
  const read = (/** @type {string} */ table, /** @type {{where?: {row: number}}} */ options) =>
    readTable(context, catalog, table, options).catch(error => {
      troubles[table] = error;
      return NOTHING;
    });
  const [tokens, texts, conversations, recorded, groups, trajectories] = await Promise.all([
    read('tokens', { where }),
    read('token_texts', {}),
    read('conversations', { where }),
    read('texts', { where }),
    read('groups', {}),
    read('trajectories', {}),
  ]);
  const payload = {
    version: 1,
    facts: { ...catalog.facts, has_tokenizer: texts.length > 0, args: catalog.facts.args ?? {} },
    sample,
    group: siblings(samples, sample),
    group_row: groupRow(groups, sample),
    neighbours: { previous: neighbour(samples, at - 1), next: neighbour(samples, at + 1) },
    response_offset: responseOffset(tokens),
    tokens: tokenColumns(tokens),
    token_texts: textsOf(tokens, texts),
    conversation: conversationOf(conversations),
    texts: textOf(recorded),
    spans: spansOf(trajectories, sample),
  };
  const unread = Object.entries(troubles).map(([table, error]) => [table, error instanceof Error ? error.message : String(error)]);
  return { payload: unread.length ? { ...payload, not_read: Object.fromEntries(unread) } : payload, troubles };
}

/**
 * @param {Context} context
 * @param {string} name
 * @returns {number|null}
 */
function wholeNumber(context, name) {
  const text = context.url.get(name);
  if (text === null) return null;
  if (!/^-?\d{1,15}$/.test(text)) throw new RequestError(`${name}=${text} is no whole number.`);
  return Number(text);
}

/**
 * @param {Context} context
 * @param {Frame} samples
 * @returns {number} index of the wanted sample in the frame
 */
function sampleRow(context, samples) {
  const row = wholeNumber(context, 'row');
  const index = wholeNumber(context, 'sample');
  const column = row === null ? 'sample_index' : 'row';
  const wanted = row ?? index;
  if (wanted === null) throw new RequestError('The address names no row: it needs &row= or &sample=.');
  const hits = [];
  for (let i = 0; i < samples.length; i += 1) if (samples.columns[column]?.[i] === wanted) hits.push(i);
  if (hits.length === 1) return hits[0];
  if (hits.length === 0) throw new RequestError(`The step has no ${row === null ? 'sample' : 'row'} ${wanted}.`);
  throw new RequestError(
    `Sample index ${wanted} stands for ${hits.length} rows of this step. Which one?`,
    hits.map((hit) => ({ text: `row ${samples.columns.row[hit]}`, row: samples.columns.row[hit] })),
  );
}

/**
 * @param {Frame} samples
 * @param {Record<string, any>} sample
 * @returns {Record<string, any>[]}
 */
function siblings(samples, sample) {
  if (sample.group_index === null) return [];
  const rows = [];
  for (let i = 0; i < samples.length; i += 1) {
    const same = samples.columns.group_index[i] === sample.group_index;
    if (same && (samples.columns.eval_set?.[i] ?? null) === (sample.eval_set ?? null)) rows.push(i);
  }
  return recordsOf(takeRows(samples, rows), SIBLING_COLUMNS);
}

/**
 * @param {Frame} groups
 * @param {Record<string, any>} sample
 * @returns {Record<string, any>|null}
 */
function groupRow(groups, sample) {
  if (sample.group_index === null) return null;
  for (let i = 0; i < groups.length; i += 1) {
    if (groups.columns.group_index[i] === sample.group_index) return rowOf(groups, i);
  }
  return null;
}

/**
 * @param {Frame} samples
 * @param {number} at
 * @returns {number|null}
 */
function neighbour(samples, at) {
  return at >= 0 && at < samples.length ? samples.columns.row[at] : null;
}

/**
 * @param {Frame} tokens
 * @returns {number}
 */
function responseOffset(tokens) {
  for (let i = 0; i < tokens.length; i += 1) if (tokens.columns.in_response[i]) return i;
  return tokens.length;
}

/**
 * @param {Frame} tokens
 * @returns {Record<string, ArrayLike<any>>}
 */
function tokenColumns(tokens) {
  const columns = Object.fromEntries(
    tokens.names.filter((name) => !DROPPED.has(name)).map((name) => [name, tokens.columns[name]]),
  );
  return { token_id: [], loss_mask: [], ...columns };
}

/**
 * @param {Frame} tokens
 * @param {Frame} texts
 * @returns {Record<string, string>} only those that the sample needs
 */
function textsOf(tokens, texts) {
  const wanted = new Set(Array.from(tokens.columns.token_id ?? [], Number));
  /** @type {Record<string, string>} */
  const found = {};
  for (let i = 0; i < texts.length; i += 1) {
    const id = texts.columns.token_id[i];
    if (wanted.has(id) && texts.columns.token_text[i] !== null) found[id] = texts.columns.token_text[i];
  }
  return found;
}

/**
 * @param {Frame} conversations
 * @returns {{messages: any, prompt: any}|null}
 */
function conversationOf(conversations) {
  if (conversations.length === 0) return null;
  const last = rowOf(conversations, conversations.length - 1);
  return { messages: parseJson(last.messages), prompt: parseJson(last.prompt) };
}

/**
 * @param {Frame} texts
 * @returns {{prompt: any, response: string|null}}
 */
function textOf(texts) {
  if (texts.length === 0) return { prompt: null, response: null };
  return { prompt: parseJson(texts.columns.prompt[0]), response: texts.columns.response[0] };
}

/**
 * @param {string|null} text
 * @returns {any} the text itself where it is no JSON
 */
function parseJson(text) {
  if (text === null || text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * @param {Frame} trajectories
 * @param {Record<string, any>} sample
 * @returns {Record<string, any>[]}
 */
function spansOf(trajectories, sample) {
  if (sample.sample_index === null) return [];
  const rows = [];
  for (let i = 0; i < trajectories.length; i += 1) {
    const group = trajectories.columns.group_index[i];
    const same = sample.group_index === null || group < 0 || group === sample.group_index;
    if (same && trajectories.columns.sample_index[i] === sample.sample_index) rows.push(i);
  }
  return recordsOf(takeRows(trajectories, rows), SPAN_COLUMNS);
}

/**
 * @param {Frame} frame
 * @param {string[]} names
 * @returns {Record<string, any>[]}
 */
function recordsOf(frame, names) {
  return Array.from({ length: frame.length }, (_, row) =>
    Object.fromEntries(names.map((name) => [name, frame.columns[name]?.[row] ?? null])),
  );
}
