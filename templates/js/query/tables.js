/**
 * The tables that a query can name: those of the schema, and what the engine calls their columns.
 */

import { TABLES } from '../schema.js';

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {string} kind of the schema
 * @property {string} doc
 * @property {Derived} [derived] how it follows from others; left out for a stored one
 *
 * @typedef {object} Derived
 * @property {string} sql over the stored rows `s`
 * @property {string[]} needs stored columns
 * @property {string} [table] another table that it is looked up in, one row a key
 * @property {string} [join] how
 *
 * @typedef {object} Table
 * @property {string} name
 * @property {boolean} perStep its files lie with the steps
 * @property {Column[]} columns in the order of the table
 */

/** Columns that the files leave out because they follow from others. @type {Record<string, Record<string, Derived>>} */
const DERIVED = {
  tokens: {
    token_text: { sql: 't.token_text', needs: ['token_id'], table: 'token_texts', join: 'left join slices.token_texts as t on t.token_id = s.token_id' },
    imp_ratio: { sql: 'exp(s.lp_diff)::float', needs: ['lp_diff'] },
  },
};

const STEP = { name: 'step', kind: 'i64', doc: 'Rollout step whose samples these are; added here.' };
const EVALUATION = { name: 'evaluation', kind: 'bool', doc: 'Whether the step is an evaluation; added here.' };

/** Tables whose rows tell of one step without saying which: the file does. */
const STEP_IN_FILE = ['trajectories'];

/** A table that only the slices have. @type {Table} */
const TOKEN_TEXTS = {
  name: 'token_texts',
  perStep: true,
  columns: [
    { name: 'token_id', kind: 'i64', doc: "Id in the tokenizer's vocabulary." },
    { name: 'token_text', kind: 'str', doc: 'The id decoded alone; bytes that are no character appear as U+FFFD.' },
  ],
};

const SQL_TYPES = /** @type {Record<string, string>} */ ({ i64: 'BIGINT', f64: 'DOUBLE', ts: 'DOUBLE', f32: 'FLOAT', bool: 'BOOLEAN', str: 'VARCHAR', json: 'VARCHAR' });

/**
 * @param {string[]} [held] names of the tables that the site has; all of the schema if left out
 * @returns {Map<string, Table>} by name
 */
export function allTables(held) {
  const tables = Object.entries(TABLES).map(([name, table]) => {
    const added = STEP_IN_FILE.includes(name) ? [STEP, EVALUATION] : [];
    const columns = table.columns.map(({ name: column, kind, doc }) => ({ name: column, kind, doc, derived: DERIVED[name]?.[column] }));
    return /** @type {Table} */ ({ name, perStep: table.perStep || STEP_IN_FILE.includes(name), columns: [...added, ...columns] });
  });
  const found = [...tables, TOKEN_TEXTS].filter(table => !held || held.includes(table.name) || table === TOKEN_TEXTS);
  return new Map(found.map(table => [table.name, table]));
}

/**
 * @param {string} kind of the schema
 * @returns {string} type in the engine
 */
export function sqlType(kind) {
  const inner = /^list\[(.*)\]$/.exec(kind)?.[1];
  return inner ? `${sqlType(inner)}[]` : SQL_TYPES[kind] ?? 'VARCHAR';
}

/**
 * The tables that a reader sees, in words of the editor: `tokens` and `'tokens.parquet'` are the same.
 *
 * @param {string} name as written, in lower case
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {string | null} its table; null if it is none
 */
export function tableNamed(name, tables) {
  const plain = name.toLowerCase().replace(/\.parquet$/, '');
  return tables.has(plain) ? plain : null;
}
