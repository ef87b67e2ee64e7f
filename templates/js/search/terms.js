/**
 * What is typed into the search field: terms of the step page's filter grammar, and words to find in texts.
 *
 * `column op value`, `status:x`, `text:"…"` and a bare boolean column are terms; every other word, or phrase in double quotes, is
 * looked for in prompts, conversations and responses. All must hold; a leading `-` negates one.
 */

import { TABLES } from '../schema.js';
import { parseFilter } from '../step/filter.js';

/** @typedef {import('../step/types.js').ColumnInfo} ColumnInfo */
/** @typedef {import('../step/filter.js').CompareTerm} CompareTerm */
/** @typedef {{needle: string, negated: boolean}} Word needle: lower case */
/** @typedef {{terms: CompareTerm[], words: Word[], error: string | null}} Search */

/**
 * @param {string[]} own columns of samples that the schema does not declare
 * @returns {ColumnInfo[]} what a search can name
 */
export function searchColumns(own) {
  const declared = TABLES.samples.columns.map(({ name, kind }) => ({ name, type: typeOf(kind) }));
  return [...declared, ...own.map(name => ({ name, type: /** @type {const} */ ('number') }))];
}

/**
 * @param {string} kind of the schema
 * @returns {ColumnInfo['type']}
 */
function typeOf(kind) {
  if (kind === 'bool') return 'boolean';
  return kind === 'str' || kind === 'json' ? 'text' : 'number';
}

/**
 * @param {string} text
 * @param {ColumnInfo[]} columns
 * @returns {Search}
 */
export function parseSearch(text, columns) {
  const known = new Map(columns.map(column => [column.name, column]));
  /** @type {CompareTerm[]} */
  const terms = [];
  /** @type {Word[]} */
  const words = [];
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const chunk = chunkAt(text, at, known);
    at = chunk.end;
    if (chunk.word !== null) {
      if (chunk.word) words.push({ needle: chunk.word.toLowerCase(), negated: chunk.negated });
      continue;
    }
    const parsed = parseFilter(chunk.text, columns);
    if (parsed.error) return { terms, words, error: `${parsed.error.message} Words to look for stand in double quotes.` };
    for (const term of parsed.terms) {
      if (term.kind === 'text') words.push({ needle: term.needle, negated: term.negated });
      else terms.push(term);
    }
  }
  return { terms, words, error: null };
}

/**
 * @typedef {object} Chunk
 * @property {string} text as written
 * @property {number} end
 * @property {string | null} word what to look for; null for a term of the filter grammar
 * @property {boolean} negated
 */

/**
 * @param {string} text
 * @param {number} start
 * @param {Map<string, ColumnInfo>} known
 * @returns {Chunk}
 */
function chunkAt(text, start, known) {
  const negated = text[start] === '-' && /\S/.test(text[start + 1] ?? '');
  const from = start + Number(negated);
  const name = nameAt(text, from);
  const after = skipSpace(text, name.end);
  const colon = text[name.end] === ':' && (name.value === 'text' || known.get(name.value)?.type === 'text');
  if (colon) return { ...piece(text, start, valueEnd(text, name.end + 1)), word: null, negated };
  if (/[<>=]|!=/.test(text.slice(after, after + 2).replace(/^![^=]/, '')) && /^(<=?|>=?|==?|!=)/.test(text.slice(after))) {
    const value = skipSpace(text, after + (/^[<>=!~]+/.exec(text.slice(after))?.[0].length ?? 0));
    return { ...piece(text, start, valueEnd(text, value)), word: null, negated };
  }
  if (!name.quoted && known.get(name.value)?.type === 'boolean' && /^(\s|$)/.test(text.slice(name.end))) {
    return { ...piece(text, start, name.end), word: null, negated };
  }
  if (name.quoted) return { ...piece(text, start, name.end), word: name.value, negated };
  const end = wordEnd(text, from);
  return { ...piece(text, start, end), word: text.slice(from, end), negated };
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {{value: string, end: number, quoted: boolean}}
 */
function nameAt(text, at) {
  if (text[at] !== '"') {
    let end = at;
    while (end < text.length && !/[\s<>=!:"]/.test(text[end])) end += 1;
    return { value: text.slice(at, end), end, quoted: false };
  }
  const end = valueEnd(text, at);
  return { value: text.slice(at + 1, end).replace(/"$/, '').replace(/\\(.)/g, '$1'), end, quoted: true };
}

/** @param {string} text @param {number} at @returns {number} behind a quoted or bare value */
function valueEnd(text, at) {
  if (text[at] !== '"') return wordEnd(text, at);
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return Math.min(text.length, end + 1);
}

/** @param {string} text @param {number} start @param {number} end @returns {{text: string, end: number}} */
function piece(text, start, end) {
  return { text: text.slice(start, end), end: Math.max(end, start + 1) };
}

/** @param {string} text @param {number} at @returns {number} */
function skipSpace(text, at) {
  let end = at;
  while (end < text.length && /\s/.test(text[end])) end += 1;
  return end;
}

/** @param {string} text @param {number} at @returns {number} */
function wordEnd(text, at) {
  let end = at;
  while (end < text.length && /\S/.test(text[end])) end += 1;
  return end;
}

/**
 * @param {Search} search
 * @returns {string[]} how it was understood, in words
 */
export function searchWords({ terms, words }) {
  const says = (/** @type {boolean} */ negated, /** @type {string} */ text) => (negated ? `not ${text}` : text);
  return [
    ...terms.map(({ column, op, value, negated }) => (value === true ? says(negated, column) : says(negated, `${column} ${op} ${value === null ? 'null' : value}`))),
    ...words.map(({ needle, negated }) => (negated ? `without “${needle}”` : `“${needle}”`)),
  ];
}
