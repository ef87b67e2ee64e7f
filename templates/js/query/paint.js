/**
 * SQL in colours: the words of each line with what they are.
 */

import { tokens } from './sql.js';

/** @typedef {{text: string, kind: string}} Piece kind: '' for what has no colour */

const KEYWORDS = new Set(('all and any as asc asof between by case cast columns create cross current desc describe distinct else end escape except ' +
  'exclude exists explain false filter first following for from full group groups having if ignore ilike in inner intersect interval is ' +
  'join last lateral left like limit macro natural not null nulls offset on or order outer over partition pivot positional preceding ' +
  'qualify range recursive replace right rows sample select semi anti show similar summarize table tablesample temp then to true try_cast ' +
  'unbounded union unpivot using values view when where window with within').split(' '));

const NOT_FUNCTIONS = new Set(['in', 'and', 'or', 'not', 'as', 'on', 'over', 'using', 'values', 'from', 'where', 'by', 'exists', 'filter', 'when', 'then', 'else', 'union', 'all', 'except', 'any', 'is', 'join', 'case', 'between', 'distinct', 'exclude', 'partition', 'select', 'having', 'with']);

/**
 * @param {string} text
 * @returns {Piece[][]} by line; together they are the text without its line breaks
 */
export function paintedLines(text) {
  /** @type {Piece[][]} */
  const lines = [[]];
  const put = (/** @type {string} */ part, /** @type {string} */ kind) => {
    part.split('\n').forEach((piece, i) => {
      if (i) lines.push([]);
      if (piece) lines[lines.length - 1].push({ text: piece, kind });
    });
  };
  let at = 0;
  const found = tokens(text);
  found.forEach((token, i) => {
    put(text.slice(at, token.start), '');
    put(token.text, kindOf(token, found[i + 1], found[i - 1]));
    at = token.end;
  });
  put(text.slice(at), '');
  return lines;
}

/**
 * @param {import('./sql.js').SqlToken} token
 * @param {import('./sql.js').SqlToken | undefined} next
 * @param {import('./sql.js').SqlToken | undefined} before
 * @returns {string}
 */
function kindOf(token, next, before) {
  if (token.kind === 'word') {
    if (next?.text === '(' && !NOT_FUNCTIONS.has(token.name)) return 'function';
    if (before?.text === '::') return 'function';
    return KEYWORDS.has(token.name) && before?.text !== '.' && next?.text !== '.' ? 'keyword' : '';
  }
  return token.kind === 'quoted' || token.kind === 'operator' ? '' : token.kind;
}

const BREAKS = ['select', 'from', 'where', 'group', 'having', 'order', 'limit', 'qualify', 'window', 'union', 'except', 'intersect'];
const JOINS = ['join', 'left', 'right', 'full', 'inner', 'cross', 'natural', 'asof', 'semi', 'anti', 'positional'];

/**
 * The same query with each clause on a line of its own, inner ones indented; comments and literals as they are.
 *
 * @param {string} text
 * @returns {string}
 */
export function formatted(text) {
  const list = tokens(text);
  let out = '';
  let depth = 0;
  /** @type {boolean[]} */
  const nested = [];
  list.forEach((token, i) => {
    const before = list[i - 1];
    if (token.text === ')') {
      if (nested.pop()) {
        depth -= 1;
        out = `${out.trimEnd()}\n${'  '.repeat(depth)}`;
      }
      out = `${/\n *$/.test(out) ? out : out.trimEnd()}${token.text}`;
      return;
    }
    const line = breaksBefore(token, before, list[i + 1], nested.at(-1) ?? depth === 0);
    if (line && out) out = `${out.trimEnd()}\n${'  '.repeat(depth + line - 1)}`;
    else if (out && before?.kind === 'comment') out = `${out.trimEnd()}\n${'  '.repeat(depth)}`;
    else if (out && spaced(text, before, token)) out += ' ';
    out += token.text;
    if (token.text === '(') {
      const inner = ['select', 'with', 'from'].includes(list[i + 1]?.name ?? '') && list[i + 1]?.kind === 'word';
      nested.push(inner);
      if (inner) {
        depth += 1;
        out += `\n${'  '.repeat(depth)}`;
      }
    }
  });
  return out;
}

/**
 * @param {import('./sql.js').SqlToken} token
 * @param {import('./sql.js').SqlToken | undefined} before
 * @param {import('./sql.js').SqlToken | undefined} next
 * @param {boolean} clauses whether it stands where clauses are, not among arguments
 * @returns {number} 0: no line break; 1: a line of its own; 2: one that is indented
 */
function breaksBefore(token, before, next, clauses) {
  if (token.kind === 'comment') return before ? 1 : 0;
  if (token.kind !== 'word' || !clauses || before?.text === '.' || before?.text === '(') return 0;
  if (['and', 'or'].includes(token.name)) return 0;
  if (token.name === 'order' || token.name === 'group') return next?.name === 'by' ? 1 : 0;
  if (token.name === 'from' && before?.name === 'distinct') return 0;
  if (token.name === 'select' && ['all', 'union', 'except', 'intersect'].includes(before?.name ?? '')) return 1;
  if (BREAKS.includes(token.name)) return 1;
  return JOINS.includes(token.name) && next?.text !== '(' && !JOINS.includes(before?.name ?? '') && before?.name !== 'outer' ? 1 : 0;
}

/**
 * @param {string} text
 * @param {import('./sql.js').SqlToken} before
 * @param {import('./sql.js').SqlToken} token
 * @returns {boolean}
 */
function spaced(text, before, token) {
  if (['(', '.', '::', '['].includes(before.text) || [',', ';', '.', '::', ')', ']'].includes(token.text)) return false;
  if (token.text === '(' || token.text === '[') return text.slice(before.end, token.start) !== '';
  return before.text === ',' || text.slice(before.end, token.start) !== '' || before.kind === 'comment';
}
