/**
 * What samples say: read when a filter or an unfolded group asks for it, part by part.
 */

import { readSlice } from '../data/slices.js';

/** @typedef {import('../types').Catalog} Catalog */
/** @typedef {import('../types').Context} Context */

/**
 * All that each sample says, in lower case, for searching: prompt, response and conversation.
 *
 * @param {Context} context
 * @param {Catalog} catalog of the step
 * @param {ArrayLike<number>} rows the `row` of each sample
 * @param {(part: number, parts: number) => void} progress
 * @returns {Promise<string[]>} one string a sample; rejects as readSlice does
 */
export async function searchTexts(context, catalog, rows, progress) {
  const at = new Map(Array.from(rows, (row, i) => [row, i]));
  /** @type {string[]} */
  const said = new Array(rows.length).fill('');
  const parts = [
    ...catalog.slices('texts').map(slice => ({ slice, names: ['prompt', 'response'] })),
    ...catalog.slices('conversations').map(slice => ({ slice, names: ['prompt', 'messages'] })),
  ];
  let done = 0;
  for (const { slice, names } of parts) {
    progress(done, parts.length);
    const frame = await readSlice(context, slice, { columns: ['row', ...names] });
    for (let i = 0; i < frame.length; i++) {
      const sample = at.get(frame.columns.row[i]);
      if (sample === undefined) continue;
      for (const name of names) said[sample] += `\n${spoken(frame.columns[name]?.[i] ?? '', name !== 'response')}`;
    }
    done += 1;
  }
  progress(done, parts.length);
  return said.map(text => text.toLowerCase());
}

/**
 * The words inside a recorded text; where it is JSON, all strings that it holds.
 *
 * @param {string} recorded
 * @param {boolean} isJson
 * @returns {string}
 */
export function spoken(recorded, isJson) {
  if (!isJson) return recorded;
  try {
    return strings(JSON.parse(recorded)).join('\n');
  } catch {
    return recorded;
  }
}

/** @param {any} value @returns {string[]} */
function strings(value) {
  if (typeof value === 'string') return [value];
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(strings);
}

/**
 * The words of a prompt that a reader knows it by: the last thing the user said.
 *
 * @param {string | null} prompt as recorded: JSON of a string or of messages
 * @returns {string}
 */
export function promptWords(prompt) {
  if (prompt === null) return '';
  let value;
  try {
    value = JSON.parse(prompt);
  } catch {
    return prompt;
  }
  if (!Array.isArray(value)) return spoken(prompt, true);
  const asked = value.filter(message => message?.role === 'user').pop() ?? value[value.length - 1];
  return strings(asked?.content ?? '').join('\n');
}
