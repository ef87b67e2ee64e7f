/**
 * Terms of the filter to a predicate over rows.
 *
 * A cell that is null answers no comparison but `= null` and `!= null`; NaN only `= nan` and `!= x`.
 * Negation is the plain opposite of its term, so `-reward > 0` keeps samples without a reward.
 */

/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('./filter.js').Term} Term */
/** @typedef {import('./filter.js').CompareTerm} CompareTerm */

/**
 * @param {Term[]} terms
 * @param {Frame} frame
 * @param {string[] | null} texts what each row says, lower case; needed for `text:` terms only
 * @returns {(row: number) => boolean}
 */
export function predicate(terms, frame, texts) {
  const tests = terms.map((term) => {
    const test = term.kind === 'text' ? textTest(term.needle, texts) : compareTest(term, frame);
    return term.negated ? (/** @type {number} */ row) => !test(row) : test;
  });
  return (row) => tests.every((test) => test(row));
}

/**
 * Rows that pass, in order.
 *
 * @param {Term[]} terms
 * @param {Frame} frame
 * @param {string[] | null} texts
 * @returns {number[]}
 */
export function matchingRows(terms, frame, texts) {
  const test = predicate(terms, frame, texts);
  const rows = [];
  for (let row = 0; row < frame.length; row += 1) if (test(row)) rows.push(row);
  return rows;
}

/**
 * @param {string} needle
 * @param {string[] | null} texts
 * @returns {(row: number) => boolean}
 */
function textTest(needle, texts) {
  return (row) => (texts?.[row] ?? '').includes(needle);
}

/**
 * @param {CompareTerm} term
 * @param {Frame} frame
 * @returns {(row: number) => boolean}
 */
function compareTest(term, frame) {
  const cells = frame.columns[term.column] ?? [];
  const { op, value } = term;
  if (value === null) {
    const wanted = op === '=';
    return (row) => (cells[row] === null || cells[row] === undefined) === wanted;
  }
  const compare = comparison(op, value);
  return (row) => {
    const cell = cells[row];
    return cell !== null && cell !== undefined && compare(cell);
  };
}

/**
 * @param {string} op
 * @param {number | string | boolean} value
 * @returns {(cell: any) => boolean}
 */
function comparison(op, value) {
  if (typeof value === 'number' && Number.isNaN(value)) {
    return op === '=' ? (cell) => Number.isNaN(cell) : (cell) => !Number.isNaN(cell);
  }
  if (op === '=') return (cell) => cell === value;
  if (op === '!=') return (cell) => cell !== value;
  const limit = Number(value);
  if (op === '<') return (cell) => toNumber(cell) < limit;
  if (op === '<=') return (cell) => toNumber(cell) <= limit;
  if (op === '>') return (cell) => toNumber(cell) > limit;
  return (cell) => toNumber(cell) >= limit;
}

/**
 * A number, or NaN for words that are none (an empty word is no zero).
 *
 * @param {any} cell
 * @returns {number}
 */
function toNumber(cell) {
  return cell === '' ? NaN : Number(cell);
}
