/** Names, formats and reasons of the per-token series, from the schema. */

import { logprob, number, signed } from '../format.js';
import { TABLES } from '../schema.js';

/** @typedef {import('./payload.js').SampleData} SampleData */
/** @typedef {import('./tokens.js').Tokens} Tokens */

const DECLARED = TABLES.tokens.columns.filter(
  (column) => column.kind === 'f32' && column.name !== 'token_id',
);
const SIGNED = new Set(['lp_diff', 'advantages', 'returns']);
const PREFERRED = ['imp_ratio', 'rollout_log_probs', 'train_log_probs', 'entropy'];

/**
 * @param {SampleData} data
 * @returns {string[]} declared series in their order, then those of the run's own
 */
export function seriesNames(data) {
  const declared = DECLARED.map((column) => column.name);
  return [...declared, ...[...data.series.keys()].filter((name) => !declared.includes(name))];
}

/**
 * @param {SampleData} data
 * @returns {string|null} the series to colour by at first; null without any
 */
export function defaultSeries(data) {
  return PREFERRED.find((name) => data.series.has(name)) ?? [...data.series.keys()][0] ?? null;
}

/**
 * @param {string} name
 * @returns {string} one sentence of the glossary
 */
export function seriesDoc(name) {
  return DECLARED.find((column) => column.name === name)?.doc ?? 'A series of this run.';
}

/**
 * @param {string} name
 * @returns {(value: number|null) => string}
 */
export function seriesFormat(name) {
  const logs = name === 'lp_diff' || name.endsWith('log_probs') || name.endsWith('entropy');
  const show = logs ? logprob : number;
  return SIGNED.has(name) ? (value) => signed(value, show) : show;
}

/**
 * @param {SampleData} data
 * @param {string} name
 * @param {number} index
 * @returns {number|null}
 */
export function valueAt(data, name, index) {
  const series = data.series.get(name);
  return series && series.known[index] ? series.values[index] : null;
}

/**
 * @param {Tokens} tokens
 * @param {string} name
 * @param {number} index
 * @returns {string} why the token has no value of the series
 */
export function whyAbsent(tokens, name, index) {
  const { data } = tokens;
  if (index < data.offset) return 'in the prompt';
  if (data.mask[index] === 0) return 'masked';
  if (!data.series.has(name)) return 'not recorded';
  return 'not defined here';
}

/**
 * What is missing for the whole sample, with the way to get it.
 * @param {SampleData} data
 * @returns {{title: string, text: string}[]}
 */
export function absences(data) {
  const notes = [];
  const has = (/** @type {string} */ name) => data.series.has(name);
  const trained = data.mask.some((one) => one === 1);
  if (data.ids.length === 0) return [];
  if (!data.facts.has_tokenizer || data.texts.size === 0) {
    notes.push({
      title: 'No token text',
      text: 'The dump has no usable tokenizer folder, so tokens stand as ids in ⟨⟩.',
    });
  }
  if (data.sample.evaluation) {
    notes.push({
      title: 'Not trained',
      text: 'Evaluation samples have no train row: no mask, no trainer log probs, no advantages.',
    });
    return notes;
  }
  if (data.sample.dumped_rank === null) {
    notes.push({
      title: 'No train row',
      text: 'No train file of this step holds the sample, so only what the engine recorded is here.',
    });
    return notes;
  }
  if (data.sample.alignment_failed) {
    notes.push({
      title: 'Slices could not be placed',
      text: 'The context-parallel slices of this sample could not be put together; a rank is missing or the layout was not recorded.',
    });
    return notes;
  }
  if (!trained) {
    notes.push({
      title: 'Nothing was trained',
      text: data.sample.remove_sample
        ? 'The rollout removed this sample from the loss: its mask is 0 everywhere.'
        : 'The loss mask is 0 everywhere.',
    });
    return notes;
  }
  if (!has('entropy')) {
    notes.push({ title: 'No entropy', text: 'The run was started without --use-rollout-entropy.' });
  }
  if (!has('lp_diff')) {
    notes.push({
      title: 'No lp_diff',
      text: 'The train file lacks log probs of the trainer or of the engine, so they cannot be compared.',
    });
  }
  if (!has('ref_entropy') && !has('ref_log_probs')) {
    notes.push({
      title: 'No reference policy',
      text: 'The run kept no reference log probs or entropies; a reference model records them.',
    });
  }
  return notes;
}
