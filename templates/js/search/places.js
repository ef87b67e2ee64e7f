/**
 * Pages that what is typed may mean: entries of the rail, steps, columns of the glossary.
 */

import { TABLES } from '../schema.js';

/** @typedef {import('../types').StepEntry} StepEntry */
/** @typedef {{label: string, href: string}} Place href: from the site root */

const MOST_COLUMNS = 6;

/**
 * @param {string} text
 * @param {{label: string, href: string}[]} pages entries of the rail
 * @param {StepEntry[]} steps
 * @returns {Place[]}
 */
export function placesFor(text, pages, steps) {
  const words = text.trim().toLowerCase();
  if (!words) return [];
  return [...stepPlaces(words, steps), ...pages.filter(page => page.label.toLowerCase().startsWith(words)), ...columnPlaces(words)];
}

/**
 * @param {string} words
 * @param {StepEntry[]} steps
 * @returns {Place[]}
 */
function stepPlaces(words, steps) {
  const match = /^(?:(step|eval|evaluation)\s*)?(\d+)$/.exec(words);
  if (!match) return [];
  return steps.filter(({ step, evaluation }) => step === Number(match[2]) && (!match[1] || (match[1] !== 'step') === evaluation)).map(({ step, evaluation }) => ({
    label: `${evaluation ? 'Eval of step' : 'Step'} ${step}`,
    href: `rollouts/${evaluation ? 'eval' : 'step'}-${step}.html`,
  }));
}

/**
 * @param {string} words
 * @returns {Place[]}
 */
function columnPlaces(words) {
  if (words.length < 3 || /\s/.test(words)) return [];
  const places = Object.entries(TABLES).flatMap(([table, { columns }]) => [
    ...(table === words ? [{ label: `table ${table}`, href: `glossary.html#${table}`, rank: 0 }] : []),
    ...columns.filter(({ name }) => name.includes(words)).map(({ name }) => ({ label: `${table}.${name}`, href: `glossary.html#${table}.${name}`, rank: name === words ? 0 : 1 })),
  ]);
  return places.sort((a, b) => a.rank - b.rank).slice(0, MOST_COLUMNS).map(({ label, href }) => ({ label: `${label} in the glossary`, href }));
}
