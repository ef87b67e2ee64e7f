/**
 * The SQL engine: DuckDB compiled to WebAssembly, in a worker that has no network.
 *
 * The only module that knows the engine. It is started from bytes that the caller has: the engine (as it is, or gzipped) and
 * the source of its worker. The worker runs from a Blob, gets the compiled engine by a message and can fetch nothing; the
 * engine is locked before the first query, so that it never asks an extension server for anything.
 */

import { AsyncDuckDB, DuckDBAccessMode, VoidLogger } from '@duckdb/duckdb-wasm';
import { batchBytes } from './arrow.js';
import { resultOf } from './result.js';

/**
 * @typedef {import('../types').Frame} Frame
 * @typedef {import('./result.js').Result} Result
 *
 * @typedef {object} Database
 * @property {(name: string, frame: Frame, kinds: Record<string, string>) => Promise<void>} append rows behind those of a
 *   table in `SCHEMA`, which has these columns in this order; kinds: type of each, of the report's schema
 * @property {(sql: string) => Promise<void>} execute statements whose rows nobody wants
 * @property {(sql: string, limit: number) => Promise<Result>} query one statement, at most so many of its rows
 * @property {() => Promise<void>} cancel the query that runs; its promise rejects
 * @property {() => void} close ends the worker; what runs never answers
 * @property {string} version of the engine
 */

/** Where stored rows lie, apart from the views that queries see. */
export const SCHEMA = 'slices';

const LOCK = `
set autoload_known_extensions = false;
set autoinstall_known_extensions = false;
set enable_external_access = false;
set preserve_insertion_order = true;
set lock_configuration = true;
`;

/** What stands before the source of the worker: the engine comes by a message, and the network is taken away. */
const SHIM = `
(() => {
  let engine = null;
  addEventListener('message', event => {
    if (!event.data || !event.data.engine) return;
    engine = event.data.engine;
    event.stopImmediatePropagation();
  });
  const refuse = () => { throw new Error('The engine has no network.'); };
  WebAssembly.instantiateStreaming = async (source, imports) => ({ module: engine, instance: await WebAssembly.instantiate(engine, imports) });
  self.fetch = async () => new Response(null);
  self.XMLHttpRequest = class { constructor() { refuse(); } };
  self.WebSocket = self.EventSource = self.XMLHttpRequest;
  self.importScripts = refuse;
  console.log = () => {}; // the engine writes there what it also answers
})();
`;

/**
 * An empty, locked database.
 *
 * @param {WebAssembly.Module} engine
 * @param {ArrayBuffer} worker source of the engine's worker
 * @returns {Promise<Database>}
 */
export async function openDatabase(engine, worker) {
  const address = URL.createObjectURL(new Blob([SHIM, worker], { type: 'text/javascript' }));
  const thread = new Worker(address);
  URL.revokeObjectURL(address);
  thread.postMessage({ engine });
  const database = new AsyncDuckDB(new VoidLogger(), thread);
  await database.instantiate('data:,');
  await database.open({ accessMode: DuckDBAccessMode.READ_WRITE, path: ':memory:', query: { queryPollingInterval: 20 } });
  const version = await database.getVersion();
  const connection = await database.connect();
  await connection.query(LOCK);
  return {
    version,
    async append(name, frame, kinds) {
      await connection.insertArrowFromIPCStream(batchBytes(frame, kinds), { name, schema: SCHEMA, create: false });
    },
    async execute(sql) {
      await connection.query(sql);
    },
    async query(sql, limit) {
      return resultOf(await connection.send(sql, true), limit);
    },
    async cancel() {
      await connection.cancelSent();
    },
    close() {
      thread.terminate();
    },
  };
}
