/**
 * Questions to the engine, one at a time: plan, ask, start the engine, load, run; each can be cancelled.
 */

import { openDatabase } from '../data/database.js';
import { compileEngine } from '../data/engine.js';
import { SliceError } from '../data/errors.js';
import { allTables } from './tables.js';
import { barrierOf } from './barriers.js';
import { createLoader } from './load.js';
import { analyse } from './scopes.js';
import { planOf } from './plan.js';
import { statements } from './sql.js';
import { QueryError, troubleOf } from './troubles.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('../data/database.js').Database} Database */
/** @typedef {import('../data/result.js').Result} Result */
/** @typedef {import('./plan.js').Plan} Plan */
/** @typedef {import('./sql.js').Statement} Statement */

/**
 * @typedef {object} Hooks what a question tells on its way
 * @property {(plan: Plan, toRead: number) => void} onPlan before anything is read
 * @property {(plan: Plan, toRead: number) => Promise<boolean>} ask whether so many bytes may be read
 * @property {(stage: 'catalogues' | 'engine' | 'reading' | 'running', done?: number, all?: number) => void} onStage
 *
 * @typedef {object} Outcome
 * @property {Result} result of the last statement
 * @property {Plan} plan
 * @property {number} read bytes that were fetched for it, without the engine
 * @property {number} seconds from the question to the answer, without waiting for an answer to `ask`
 *
 * @typedef {object} Session
 * @property {(sql: string) => Promise<{plan: Plan, toRead: number}>} plan rejects with QueryError, or as catalogues do
 * @property {(sql: string, hooks: Hooks) => Promise<Outcome | null>} run null: not allowed, or cancelled
 * @property {() => Promise<void>} cancel the question that is being answered
 * @property {() => boolean} ready whether the engine has been started
 * @property {() => void} dispose
 */

const ENGINE = 'duckdb-eh.wasm.gz';

/** Rows that are brought into the page; a file of more is written by other tools. */
export const MOST_ROWS = 100_000;

/** So long a query may take to heed a cancellation, before its engine is ended. */
const PATIENCE_MS = 1500;
const SAFE_TYPES = /^(U?(TINY|SMALL|BIG)INT|U?INTEGER|HUGEINT|FLOAT|DOUBLE|DECIMAL\(.*\)|BOOLEAN|VARCHAR|DATE|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?|"NULL"|UUID)$/;

/**
 * @param {Context} context `context.page`: tables, ask_bytes
 * @returns {Session}
 */
export function createSession(context) {
  const tables = allTables(context.page.tables);
  /** @type {Promise<WebAssembly.Module> | null} */
  let compiled = null;
  /** @type {{database: Database, loader: import('./load.js').Loader} | null} */
  let engine = null;
  /** @type {Promise<{database: Database, loader: import('./load.js').Loader}> | null} */
  let starting = null;
  /** @type {{abort: AbortController, running: boolean, settled: Promise<unknown>} | null} */
  let current = null;

  const fetchAsset = (/** @type {string} */ name) => context.fetch(/** @type {string} */ (context.asset(name)));
  const start = () => {
    starting ??= started();
    starting.catch(() => { starting = null; });
    return starting;
  };
  const started = async () => {
    compiled ??= fetchAsset(ENGINE).then(bytes => compileEngine(bytes).catch(cause => {
      const name = context.asset(ENGINE) ?? ENGINE;
      throw new SliceError(name, `${name} could not be started: it was altered on the way, or this browser is too old for it.`, cause);
    }));
    compiled.catch(() => { compiled = null; });
    const [module, worker] = await Promise.all([compiled, fetchAsset('duckdb-worker.js')]);
    const database = await openDatabase(module, worker);
    const loader = createLoader(context, database, tables);
    await loader.declare();
    engine = { database, loader };
    return engine;
  };
  const stop = () => {
    engine?.database.close();
    engine = null;
    starting = null;
  };
  const plan = async (/** @type {Statement[]} */ list, /** @type {Partial<Hooks>} */ { onStage } = {}, /** @type {AbortSignal} */ signal = new AbortController().signal, whole = false) => {
    const analyses = list.map(({ tokens }) => analyse(tokens, tables)).map(one => (whole ? { ...one, names: null } : one));
    const root = await context.catalog();
    const made = await planOf(analyses, tables, root, { signal, onCatalog: (done, all) => onStage?.('catalogues', done, all) });
    return { plan: made, toRead: engine ? engine.loader.missing(made) : made.bytes };
  };

  /**
   * @param {string} sql
   * @param {Hooks} hooks
   * @param {AbortController} abort
   * @param {boolean} whole all columns, also those that the query does not name
   * @returns {Promise<Outcome | null>}
   */
  async function answer(sql, hooks, abort, whole) {
    const list = understood(sql);
    let begun = performance.now();
    const { plan: made, toRead } = await plan(list, hooks, abort.signal, whole);
    hooks.onPlan(made, toRead);
    if (toRead > context.page.ask_bytes) {
      const asked = performance.now();
      if (!(await hooks.ask(made, toRead))) return null;
      begun += performance.now() - asked;
    }
    abort.signal.throwIfAborted();
    hooks.onStage('engine');
    const { database, loader } = await start();
    abort.signal.throwIfAborted();
    const onProgress = (/** @type {import('./load.js').Progress} */ { bytes, of }) => hooks.onStage('reading', bytes, of);
    const read = await loader.load(made, { onProgress, signal: abort.signal });
    hooks.onStage('running');
    if (current) current.running = true;
    /** @type {Result | null} */
    let result = null;
    for (const statement of list) {
      try {
        result = await askEngine(database, statement);
      } catch (cause) {
        const found = troubleOf(messageOf(cause), statement, [...tables.keys()]);
        if (found.missingColumn && made.tables.some(table => table.pruned)) return answer(sql, hooks, abort, true);
        throw new QueryError(found, cause);
      }
      abort.signal.throwIfAborted();
    }
    return { result: /** @type {Result} */ (result), plan: made, read, seconds: (performance.now() - begun) / 1000 };
  }

  /**
   * @param {string} sql
   * @returns {Statement[]}
   */
  function understood(sql) {
    const list = statements(sql);
    if (!list.length) throw trouble('There is nothing to run: the editor is empty.', null);
    const barrier = barrierOf(list, tables);
    if (barrier) throw trouble(barrier.message, barrier.start);
    return list;
  }

  return {
    plan: async sql => plan(understood(sql)),
    ready: () => engine !== null,
    async run(sql, hooks) {
      if (current) await this.cancel();
      const abort = new AbortController();
      const mine = { abort, running: false, settled: /** @type {Promise<unknown>} */ (Promise.resolve()) };
      current = mine;
      const gone = new Promise((_, reject) => abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true }));
      gone.catch(() => {});
      const answered = answer(sql, hooks, abort, false);
      mine.settled = answered.catch(() => {});
      try {
        return await Promise.race([answered, gone.catch(async error => { await Promise.race([mine.settled, later(PATIENCE_MS)]); throw error; })]);
      } catch (error) {
        if (abort.signal.aborted) return null;
        if (error instanceof QueryError && error.trouble.broken) stop();
        throw error;
      } finally {
        if (current === mine) current = null;
      }
    },
    async cancel() {
      const mine = current;
      if (!mine) return;
      mine.abort.abort();
      if (mine.running) await Promise.race([engine?.database.cancel().catch(() => {}), later(PATIENCE_MS)]);
      const heeded = await Promise.race([mine.settled.then(() => true), later(PATIENCE_MS).then(() => false)]);
      if (!heeded && mine.running) stop();
    },
    dispose() {
      current?.abort.abort();
      stop();
    },
  };
}

/**
 * One statement, its columns of types that the page does not know as text.
 *
 * @param {Database} database
 * @param {Statement} statement
 * @returns {Promise<Result>}
 */
async function askEngine(database, { text, tokens }) {
  if (!['select', 'from', 'with', 'values', 'table'].includes(tokens[0].name) && tokens[0].text !== '(') return database.query(text, MOST_ROWS);
  const described = await database.query(`describe ${text}`, 1000).catch(() => null);
  const types = described ? /** @type {string[]} */ (described.frame.columns.column_type) : [];
  if (types.every(type => SAFE_TYPES.test(type))) return database.query(text, MOST_ROWS);
  const names = /** @type {string[]} */ (described?.frame.columns.column_name);
  const columns = names.map((name, i) => `${SAFE_TYPES.test(types[i]) ? `c${i}` : `c${i}::varchar`} as "${name.replaceAll('"', '""')}"`);
  return database.query(`select ${columns.join(', ')} from (\n${text}\n) as r(${names.map((_, i) => `c${i}`).join(', ')})`, MOST_ROWS);
}

/**
 * @param {string} message
 * @param {number | null} at
 * @returns {QueryError}
 */
function trouble(message, at) {
  return new QueryError({ message, at, missingColumn: false, broken: false });
}

/** @param {unknown} cause @returns {string} */
function messageOf(cause) {
  return cause instanceof Error ? cause.message : String(cause);
}

/** @param {number} ms @returns {Promise<void>} */
function later(ms) {
  return new Promise(resolve => { setTimeout(resolve, ms); });
}
