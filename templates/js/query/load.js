/**
 * Files of the site into tables of the engine: only what a plan names and is not there yet.
 *
 * Stored rows lie in the schema `slices`; queries see views over them, which have the derived columns too.
 */

import { takeRows } from '../data/frame.js';
import { readSlice } from '../data/slices.js';
import { quoteName } from './sql.js';
import { sqlType } from './tables.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('../types').Frame} Frame */
/** @typedef {import('../data/database.js').Database} Database */
/** @typedef {import('./plan.js').Part} Part */
/** @typedef {import('./plan.js').Plan} Plan */
/** @typedef {import('./plan.js').TablePlan} TablePlan */
/** @typedef {import('./tables.js').Table} Table */

/**
 * @typedef {object} Loaded what the engine has of one table
 * @property {Map<string, string>} kinds stored columns and their types, in order
 * @property {Set<string>} paths files whose rows are there
 * @property {Set<any>} ids those that are there, of a table with one row an id
 *
 * @typedef {{bytes: number, of: number}} Progress
 *
 * @typedef {object} Loader
 * @property {() => Promise<void>} declare makes all tables, without rows
 * @property {(plan: Plan) => number} missing bytes that a plan has to read
 * @property {(plan: Plan, options: {onProgress: (progress: Progress) => void, signal: AbortSignal}) => Promise<number>} load
 *   the bytes read; rejects as readSlice does, and when aborted
 */

const FETCHES = 4;
/** Tables of which all steps repeat the same rows. @type {Record<string, string>} */
const ONE_ROW_AN = { token_texts: 'token_id' };

/**
 * @param {Context} context
 * @param {Database} database
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {Loader}
 */
export function createLoader(context, database, tables) {
  /** @type {Map<string, Loaded>} */
  const loaded = new Map();

  const make = async (/** @type {Table} */ table, /** @type {Map<string, string>} */ kinds) => {
    loaded.set(table.name, { kinds, paths: new Set(), ids: new Set() });
    const columns = [...kinds].map(([name, kind]) => `${quoteName(name)} ${sqlType(kind)}`).join(', ');
    await database.execute(`create or replace table slices.${quoteName(table.name)} (${columns})`);
  };
  const show = async (/** @type {Table} */ table, /** @type {string[]} */ shown) => {
    for (const statement of viewsOf(table, shown)) await database.execute(statement);
  };
  const known = (/** @type {TablePlan} */ { table }) => /** @type {Loaded} */ (loaded.get(table.name));
  /** Whether the table has to be made anew: it lacks columns, or would get some that nobody asked for. */
  const stale = (/** @type {TablePlan} */ plan) => {
    const { kinds, paths } = known(plan);
    return plan.stored.some(name => !kinds.has(name)) || (paths.size === 0 && plan.parts.length > 0 && columnsFor(plan, known(plan)).length < kinds.size);
  };
  const partsToRead = (/** @type {TablePlan} */ plan) => plan.parts.filter(part => stale(plan) || !known(plan).paths.has(part.slice.path));

  return {
    async declare() {
      await database.execute('create schema if not exists slices');
      await database.execute('create or replace macro utc(ts) as make_timestamp((ts * 1000000)::bigint)');
      const ordered = [...tables.values()].sort((a, b) => Number(looksUp(a)) - Number(looksUp(b)));
      for (const table of ordered) {
        await make(table, new Map(table.columns.filter(column => !column.derived).map(column => [column.name, column.kind])));
        await show(table, table.columns.map(column => column.name));
      }
    },
    missing: plan => plan.tables.flatMap(partsToRead).reduce((sum, part) => sum + part.slice.bytes, 0),
    async load(plan, { onProgress, signal }) {
      const of = plan.tables.flatMap(partsToRead).reduce((sum, part) => sum + part.slice.bytes, 0);
      let bytes = 0;
      onProgress({ bytes, of });
      const ordered = [...plan.tables].sort((a, b) => Number(looksUp(a.table)) - Number(looksUp(b.table)));
      for (const one of ordered) {
        const parts = partsToRead(one);
        const again = stale(one);
        const columns = again ? columnsFor(one, known(one)) : [...known(one).kinds.keys()];
        /** @type {Map<string, string> | null} */
        let kinds = again ? null : known(one).kinds;
        if (again && !parts.length) kinds = await remade(one, columns, null);
        for await (const { part, frame } of frames(context, parts, columns, signal)) {
          kinds ??= await remade(one, columns, frame);
          const state = known(one);
          const rows = completed(onlyNew(frame, one.table.name, state), part, kinds);
          if (rows.length) await database.append(one.table.name, rows, Object.fromEntries(kinds));
          state.paths.add(part.slice.path);
          bytes += part.slice.bytes;
          onProgress({ bytes, of });
          signal.throwIfAborted();
        }
        await show(one.table, visible(one, known(one).kinds));
      }
      return bytes;
    },
  };

  /**
   * @param {TablePlan} plan
   * @param {string[]} columns
   * @param {Frame | null} frame first rows, which tell the types of columns that the schema does not know
   * @returns {Promise<Map<string, string>>} of the new, empty table
   */
  async function remade({ table }, columns, frame) {
    const before = loaded.get(table.name)?.kinds;
    const declared = new Map(table.columns.map(column => [column.name, column.kind]));
    const kinds = new Map(columns.map(name => [name, declared.get(name) ?? before?.get(name) ?? ownKind(frame?.columns[name])]));
    await make(table, kinds);
    return kinds;
  }
}

/**
 * The stored columns of a table that is made anew: those it had, so that queries in turn do not read it again and again, and
 * those asked for.
 *
 * @param {TablePlan} plan
 * @param {Loaded} state
 * @returns {string[]} at least one
 */
function columnsFor({ table, stored, parts }, { kinds, paths }) {
  const wanted = new Set([...(paths.size || !parts.length ? kinds.keys() : []), ...stored]);
  const declared = table.columns.filter(column => !column.derived).map(column => column.name);
  const ordered = [...declared.filter(name => wanted.has(name)), ...[...wanted].filter(name => !declared.includes(name))];
  return ordered.length ? ordered : declared.slice(0, 1);
}

/** @param {Table} table @returns {boolean} whether its view needs another table */
function looksUp(table) {
  return table.columns.some(column => column.derived?.table);
}

/**
 * @param {TablePlan} plan
 * @param {Map<string, string>} kinds stored columns
 * @returns {string[]} columns of the view: all that can be had from what is stored
 */
function visible({ table, shown }, kinds) {
  const declared = table.columns.filter(column => (column.derived ? column.derived.needs.every(name => kinds.has(name)) && shown.includes(column.name) : kinds.has(column.name)));
  const names = declared.map(column => column.name);
  return [...names, ...[...kinds.keys()].filter(name => !table.columns.some(column => column.name === name))];
}

/**
 * @param {Table} table
 * @param {string[]} shown
 * @returns {string[]} statements that make the view and the one that is named like a file
 */
function viewsOf(table, shown) {
  const byName = new Map(table.columns.map(column => [column.name, column.derived]));
  const columns = shown.map(name => `${byName.get(name)?.sql ?? `s.${quoteName(name)}`} as ${quoteName(name)}`);
  const joins = [...new Set(shown.map(name => byName.get(name)?.join).filter(Boolean))];
  const body = `select ${columns.join(', ')} from slices.${quoteName(table.name)} as s ${joins.join(' ')}`;
  return [table.name, `${table.name}.parquet`].map(name => `create or replace view main.${quoteName(name)} as ${body}`);
}

/**
 * The rows of parts in their order, fetched a few at a time ahead.
 *
 * @param {Context} context
 * @param {Part[]} parts
 * @param {string[]} columns
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<{part: Part, frame: Frame}>}
 */
async function* frames(context, parts, columns, signal) {
  /** @type {Promise<Frame>[]} */
  const coming = [];
  const start = (/** @type {number} */ i) => {
    const alone = { ...context, cache: new Map() }; // decoded columns go into the engine and are kept nowhere else
    coming[i] = readSlice(alone, parts[i].slice, { columns });
    coming[i].catch(() => {}); // told when its turn comes
  };
  for (let i = 0; i < Math.min(FETCHES, parts.length); i++) start(i);
  for (let i = 0; i < parts.length; i++) {
    signal.throwIfAborted();
    const frame = await coming[i];
    signal.throwIfAborted();
    delete coming[i];
    if (i + FETCHES < parts.length) start(i + FETCHES);
    yield { part: parts[i], frame };
  }
}

/**
 * @param {Frame} frame
 * @param {string} table
 * @param {Loaded} state
 * @returns {Frame} without ids that are there already
 */
function onlyNew(frame, table, state) {
  const key = ONE_ROW_AN[table];
  const ids = key ? frame.columns[key] : undefined;
  if (!ids) return frame;
  const rows = [];
  for (let i = 0; i < frame.length; i++) {
    if (state.ids.has(ids[i])) continue;
    state.ids.add(ids[i]);
    rows.push(i);
  }
  return rows.length === frame.length ? frame : takeRows(frame, rows);
}

/**
 * @param {Frame} frame
 * @param {Part} part
 * @param {Map<string, string>} kinds
 * @returns {Frame} with every column of the table: those the file says by its place, and absent ones as null
 */
function completed(frame, part, kinds) {
  const names = [...kinds.keys()];
  const columns = names.map(name => {
    const cells = frame.columns[name];
    if (cells) return [name, kinds.get(name) === 'f64' ? asNumbers(cells) : cells];
    const value = name === 'step' ? part.step : name === 'evaluation' ? part.evaluation : null;
    return [name, new Array(frame.length).fill(value)];
  });
  return { length: frame.length, names, columns: Object.fromEntries(columns) };
}

/**
 * @param {ArrayLike<any>} cells
 * @returns {ArrayLike<any>} booleans as 0 and 1: a column of a run's own may change its type
 */
function asNumbers(cells) {
  if (ArrayBuffer.isView(cells)) return cells;
  return Array.from(cells, cell => (typeof cell === 'boolean' || typeof cell === 'string' ? Number(cell) : cell));
}

/**
 * @param {ArrayLike<any> | undefined} cells of a column that the schema does not know
 * @returns {string}
 */
function ownKind(cells) {
  const first = Array.prototype.find.call(cells ?? [], cell => cell !== null && cell !== undefined);
  if (typeof first === 'string') return 'str';
  return typeof first === 'boolean' ? 'bool' : 'f64';
}

