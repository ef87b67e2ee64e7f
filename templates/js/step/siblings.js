/**
 * Samples of one prompt side by side: the prompt once, then how each answer begins.
 */

import { readTable } from '../data/slices.js';
import { el, fill } from '../dom.js';
import { count, plural, signed, value } from '../format.js';
import { failure } from '../ui/failure.js';
import { sampleHref } from './columns.js';
import { promptWords } from './texts.js';

const SHOWN = 16;
const PROMPT_CHARACTERS = 600;
const RESPONSE_CHARACTERS = 420;

/**
 * @param {HTMLElement} box
 * @param {number[]} members frame rows of the group
 * @param {Parameters<typeof import('./samples.js').mountSamples>[1]} given
 */
export function drawSiblings(box, members, given) {
  const { frame } = given;
  const first = members.slice(0, SHOWN);
  const prompt = el('p', { class: 'step-prompt' }, el('span', { class: 'muted' }, 'Reading what they say …'));
  const answers = new Map(first.map(row => [row, el('div', { class: 'step-answer' })]));
  fill(box, prompt,
    el('div', { class: 'step-siblings' }, first.map(row => card(row, /** @type {HTMLElement} */ (answers.get(row)), given))),
    members.length > SHOWN ? el('p', { class: 'note' }, `${plural(members.length - SHOWN, 'more sample')} of this group: filter the samples by group_index = ${frame.columns.group_index[first[0]] ?? 'null'}.`) : null);
  readWords(first, given).then(
    words => {
      const asked = first.map(row => words.get(row)?.prompt ?? '').find(Boolean) ?? '';
      fill(prompt, asked ? cut(asked, PROMPT_CHARACTERS) : el('span', { class: 'muted' }, 'No prompt was recorded.'));
      for (const [row, node] of answers) {
        const said = words.get(row)?.response ?? '';
        fill(node, said ? cut(said, RESPONSE_CHARACTERS) : el('span', { class: 'muted' }, 'No response was recorded.'));
      }
    },
    error => fill(prompt, failure(error, { what: 'Prompt and responses' })),
  );
}

/**
 * @param {number} row
 * @param {HTMLElement} answer
 * @param {Parameters<typeof import('./samples.js').mountSamples>[1]} given
 * @returns {HTMLElement}
 */
function card(row, answer, { context, frame }) {
  const cell = (/** @type {string} */ name) => frame.columns[name]?.[row] ?? null;
  const facts = [
    cell('status') ?? 'no status',
    cell('response_length') === null ? null : `${count(cell('response_length'))} tokens`,
    cell('adv_mean') === null ? null : `advantage ${signed(cell('adv_mean'))}`,
  ].filter(Boolean);
  return el('article', { class: 'step-sibling' },
    el('p', { class: 'step-sibling-head' },
      el('a', { href: context.href(sampleHref(context.page.step, cell('row'), context.page.evaluation)) }, `Sample ${cell('sample_index') ?? `row ${cell('row')}`}`),
      el('strong', null, cell('reward_value') === null ? 'no reward' : `reward ${value(cell('reward_value'), 'number')}`)),
    el('p', { class: 'caption' }, facts.join(' · ')),
    answer);
}

/**
 * @param {number[]} members
 * @param {Parameters<typeof import('./samples.js').mountSamples>[1]} given
 * @returns {Promise<Map<number, {prompt: string, response: string}>>} by frame row
 */
async function readWords(members, { context, catalog, frame }) {
  const found = new Map();
  for (const row of members) {
    const texts = await readTable(context, catalog, 'texts', { columns: ['row', 'prompt', 'response'], where: { row: frame.columns.row[row] } });
    if (texts.length) found.set(row, { prompt: promptWords(texts.columns.prompt[0]), response: texts.columns.response[0] ?? '' });
  }
  return found;
}

/** @param {string} text @param {number} length @returns {string} */
function cut(text, length) {
  const characters = Array.from(text.slice(0, length * 2));
  return characters.length > length || text.length > length * 2 ? `${characters.slice(0, length).join('')}…` : text;
}
