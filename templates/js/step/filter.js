/**
 * The filter grammar of the samples table: text to terms.
 *
 * `column op value` with < <= = != >= >, `status:x`, a bare boolean column, `text:"…"`; terms stand
 * side by side and all must hold; a leading `-` negates one. Names with odd characters are quoted.
 * Parsing never throws: the first token that makes no sense is named in `error`.
 */

/** @typedef {import('./types.js').ColumnInfo} ColumnInfo */

/**
 * @typedef {object} CompareTerm
 * @property {'compare'} kind
 * @property {string} column
 * @property {string} op one of `OPERATORS`
 * @property {number | string | boolean | null} value
 * @property {boolean} negated
 *
 * @typedef {object} TextTerm
 * @property {'text'} kind
 * @property {string} needle lower case
 * @property {boolean} negated
 *
 * @typedef {CompareTerm | TextTerm} Term
 *
 * @typedef {object} Mark
 * @property {number} start
 * @property {number} end
 * @property {'negation' | 'column' | 'operator' | 'value' | 'error'} kind
 *
 * @typedef {object} FilterError
 * @property {string} token the characters that make no sense; "" at the end of the text
 * @property {number} start
 * @property {number} end
 * @property {string} message a sentence that names the token
 *
 * @typedef {object} ParsedFilter
 * @property {Term[]} terms
 * @property {Mark[]} marks what to paint in the box, in order
 * @property {FilterError | null} error
 */

export const OPERATORS = ['<', '<=', '=', '!=', '>=', '>'];

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?%?$/i;
const NAME_END = /[\s<>=!:"]/;

/**
 * @param {string} text
 * @param {ColumnInfo[]} columns what may be named
 * @returns {ParsedFilter}
 */
export function parseFilter(text, columns) {
  const known = new Map(columns.map((column) => [column.name, column]));
  /** @type {Term[]} */
  const terms = [];
  /** @type {Mark[]} */
  const marks = [];
  let position = skipSpace(text, 0);
  while (position < text.length) {
    const term = parseTerm(text, position, known, marks);
    if ('error' in term) {
      marks.push({ start: term.error.start, end: term.error.end, kind: 'error' });
      return { terms: [], marks, error: term.error };
    }
    terms.push(term.term);
    position = skipSpace(text, term.end);
  }
  return { terms, marks, error: null };
}

/**
 * Whether a filter has to read what samples say.
 *
 * @param {Term[]} terms
 * @returns {boolean}
 */
export function needsText(terms) {
  return terms.some((term) => term.kind === 'text');
}

/**
 * A name as it is written in the grammar.
 *
 * @param {string} name
 * @returns {string}
 */
export function quoteName(name) {
  const plain = name !== '' && !NAME_END.test(name) && !name.startsWith('-') && name !== 'text';
  return plain ? name : `"${name.replace(/[\\"]/g, '\\$&')}"`;
}

/**
 * @param {string} text
 * @param {number} start
 * @param {Map<string, ColumnInfo>} known
 * @param {Mark[]} marks
 * @returns {{ term: Term, end: number } | { error: FilterError }}
 */
function parseTerm(text, start, known, marks) {
  let position = start;
  const negated = text[position] === '-';
  if (negated) {
    marks.push({ start: position, end: position + 1, kind: 'negation' });
    position += 1;
  }
  const name = readWord(text, position, NAME_END);
  if ('error' in name) return name;
  if (name.end === position) {
    return negated
      ? fail(text, start, position, (token) => `“${token}” negates nothing; a column follows it without a space.`)
      : fail(text, position, wordEnd(text, position), nameMissing);
  }
  const after = name.end;
  if (text[after] === ':') return parsePrefixed(text, position, name, negated, known, marks);
  const column = known.get(name.value);
  if (!column) {
    return fail(text, position, after, (token) => unknownColumn(token, name.value, [...known.keys()]));
  }
  marks.push({ start: position, end: after, kind: 'column' });
  const opStart = skipSpace(text, after);
  const opEnd = runEnd(text, opStart, /[<>=!~]/);
  if (opEnd === opStart) {
    if (column.type !== 'boolean') {
      marks.pop();
      return fail(text, position, after, (token) => bareColumn(token, column));
    }
    return { term: { kind: 'compare', column: column.name, op: '=', value: true, negated }, end: after };
  }
  const op = text.slice(opStart, opEnd);
  if (!OPERATORS.includes(op)) {
    return fail(text, opStart, opEnd, (token) => `“${token}” is no operator; use one of ${OPERATORS.join(' ')}.`);
  }
  marks.push({ start: opStart, end: opEnd, kind: 'operator' });
  return parseValue(text, opEnd, column, op, negated, marks);
}

/**
 * @param {string} text
 * @param {number} from
 * @param {ColumnInfo} column
 * @param {string} op
 * @param {boolean} negated
 * @param {Mark[]} marks
 * @returns {{ term: Term, end: number } | { error: FilterError }}
 */
function parseValue(text, from, column, op, negated, marks) {
  const start = skipSpace(text, from);
  const word = readWord(text, start, /\s/);
  if ('error' in word) return word;
  if (word.end === start) {
    return fail(text, start, start, () => `A value is missing after “${column.name} ${op}”.`);
  }
  const value = valueOf(word.value, column, op);
  if (value.problem !== null) {
    const problem = value.problem;
    return fail(text, start, word.end, (token) => `“${token}” ${problem}`);
  }
  marks.push({ start, end: word.end, kind: 'value' });
  return {
    term: { kind: 'compare', column: column.name, op, value: value.value, negated },
    end: word.end,
  };
}

/**
 * `status:x`, `text:"…"`, and the same for other columns of words.
 *
 * @param {string} text
 * @param {number} start
 * @param {{ value: string, end: number }} name
 * @param {boolean} negated
 * @param {Map<string, ColumnInfo>} known
 * @param {Mark[]} marks
 * @returns {{ term: Term, end: number } | { error: FilterError }}
 */
function parsePrefixed(text, start, name, negated, known, marks) {
  const column = known.get(name.value);
  const colon = name.end + 1;
  if (name.value !== 'text' && column?.type !== 'text') {
    return fail(text, start, colon, (token) => column
      ? `“${token}” does not go with ${wordFor(column)}; write ${quoteName(column.name)} = ….`
      : unknownColumn(token, name.value, [...known.keys()]));
  }
  marks.push({ start, end: colon, kind: 'column' });
  const word = readWord(text, colon, /\s/);
  if ('error' in word) return word;
  if (word.value === '') return fail(text, start, Math.max(colon, word.end), (token) => `Words are missing after “${token}”.`);
  marks.push({ start: colon, end: word.end, kind: 'value' });
  if (name.value === 'text') {
    return { term: { kind: 'text', needle: word.value.toLowerCase(), negated }, end: word.end };
  }
  return { term: { kind: 'compare', column: name.value, op: '=', value: word.value, negated }, end: word.end };
}

/**
 * @param {string} word
 * @param {ColumnInfo} column
 * @param {string} op
 * @returns {{ value: number | string | boolean | null, problem: string | null }}
 */
function valueOf(word, column, op) {
  const lower = word.toLowerCase();
  const equality = op === '=' || op === '!=';
  if (lower === 'null') {
    return { value: null, problem: equality ? null : 'has no order; use = or !=.' };
  }
  if (column.type === 'boolean') {
    if (!equality) return { value: null, problem: `has no order in ${column.name}; use = or !=.` };
    const known = lower === 'true' || lower === 'false';
    return { value: lower === 'true', problem: known ? null : `is neither true nor false, as ${column.name} is.` };
  }
  if (column.type === 'text' && equality) return { value: word, problem: null };
  if (lower === 'nan') return { value: NaN, problem: equality ? null : 'has no order; use = or !=.' };
  if (/^[+-]?inf(inity)?$/.test(lower)) return { value: lower.startsWith('-') ? -Infinity : Infinity, problem: null };
  if (!NUMBER.test(word)) return { value: null, problem: `is not a number, as ${column.name} ${op} needs.` };
  return { value: word.endsWith('%') ? Number(word.slice(0, -1)) / 100 : Number(word), problem: null };
}

/**
 * A quoted or bare word.
 *
 * @param {string} text
 * @param {number} start
 * @param {RegExp} stop what ends a bare word
 * @returns {{ value: string, end: number } | { error: FilterError }}
 */
function readWord(text, start, stop) {
  if (text[start] !== '"') {
    let end = start;
    while (end < text.length && !stop.test(text.charAt(end))) end += 1;
    return { value: text.slice(start, end), end };
  }
  let value = '';
  let end = start + 1;
  while (end < text.length && text[end] !== '"') {
    if (text[end] === '\\' && end + 1 < text.length) end += 1;
    value += text.charAt(end);
    end += 1;
  }
  if (end >= text.length) return fail(text, start, text.length, (token) => `The quote in “${token}” is never closed.`);
  return { value, end: end + 1 };
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {(token: string) => string} say
 * @returns {{ error: FilterError }}
 */
function fail(text, start, end, say) {
  const token = text.slice(start, end);
  return { error: { token, start, end, message: say(token) } };
}

/** @param {string} token @returns {string} */
function nameMissing(token) {
  return `“${token}” does not begin with the name of a column.`;
}

/**
 * @param {string} token as written
 * @param {string} name
 * @param {string[]} names
 * @returns {string}
 */
function unknownColumn(token, name, names) {
  const near = nearest(name, names);
  return `“${token}” is no column of this table${near ? `; did you mean ${near}?` : '.'}`;
}

/** @param {string} token @param {ColumnInfo} column @returns {string} */
function bareColumn(token, column) {
  const example = column.type === 'text' ? `${quoteName(column.name)} = "…"` : `${quoteName(column.name)} > 0`;
  return `“${token}” is ${wordFor(column)} and needs a comparison, such as ${example}.`;
}

/** @param {ColumnInfo} column @returns {string} */
function wordFor(column) {
  return column.type === 'number' ? 'a number' : column.type === 'text' ? 'a word' : 'true or false';
}

/**
 * @param {string} name
 * @param {string[]} names
 * @returns {string} "" where nothing is near
 */
function nearest(name, names) {
  const lower = name.toLowerCase();
  const within = names.find((candidate) => lower.length > 2 && candidate.toLowerCase().includes(lower));
  if (within) return within;
  const scored = names.map((candidate) => ({ candidate, distance: editDistance(lower, candidate.toLowerCase()) }));
  scored.sort((a, b) => a.distance - b.distance);
  const best = scored[0];
  return best && best.distance <= Math.max(2, name.length / 4) ? best.candidate : '';
}

/** @param {string} a @param {string} b @returns {number} */
function editDistance(a, b) {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/** @param {string} text @param {number} from @returns {number} */
function skipSpace(text, from) {
  return runEnd(text, from, /\s/);
}

/** @param {string} text @param {number} from @returns {number} */
function wordEnd(text, from) {
  return runEnd(text, from, /\S/);
}

/** @param {string} text @param {number} from @param {RegExp} pattern @returns {number} */
function runEnd(text, from, pattern) {
  let end = from;
  while (end < text.length && pattern.test(text.charAt(end))) end += 1;
  return end;
}
