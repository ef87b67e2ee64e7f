import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHash } from 'node:crypto';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import { batchBytes } from '../../templates/js/data/arrow.js';
import { readCatalog } from '../../templates/js/data/catalog.js';
import { decimal, resultOf, uniqueNames } from '../../templates/js/data/result.js';
import { createLoader } from '../../templates/js/query/load.js';
import { planOf, planWords } from '../../templates/js/query/plan.js';
import { cellText, resultColumns } from '../../templates/js/query/resultcells.js';
import { guess, kindFor } from '../../templates/js/query/resultchart.js';
import { parquetBytes } from '../../templates/js/query/save.js';
import { analyse } from '../../templates/js/query/scopes.js';
import { statements } from '../../templates/js/query/sql.js';
import { allTables } from '../../templates/js/query/tables.js';

const TABLES = allTables();
const COLUMNS = ['step', 'evaluation', 'row', 'position', 'token_id', 'lp_diff', 'surprise'];

function slice(path, bytes, rows, keys = {}, columns = COLUMNS) {
  return { path, bytes, sha256: '', rows, columns, keys };
}

/** Steps 0 to 2 and evaluation 1; two token files a step of 1000 and 200 bytes; step 2 cannot be read. */
function site() {
  const steps = [[0, false, 'ok'], [1, false, 'ok'], [2, false, 'broken'], [1, true, 'ok']];
  const fetched = [];
  const files = new Map(steps.map(([step, evaluation]) => {
    const name = `${evaluation ? 'e' : 's'}${step}`;
    return [`${name}/catalog`, Buffer.from(JSON.stringify({ version: 1, facts: {}, tables: {
      tokens: [slice(`${name}/tokens-0`, 1000, 50, { row: [0, 3] }), slice(`${name}/tokens-1`, 200, 20, { row: [3, 9] })],
      token_texts: [slice(`${name}/token_texts-0`, 30, 5, {}, ['token_id', 'token_text'])],
      samples: [slice(`${name}/samples-0`, 70, 10, {}, ['step', 'row', 'reward', 'reward.x'])],
    } }))];
  }));
  const context = {
    fetch: async path => {
      fetched.push(path);
      return Uint8Array.from(files.get(path)).buffer;
    },
    rebuilt: async () => false,
  };
  const listed = path => ({ path, bytes: files.get(path).length, sha256: createHash('sha256').update(files.get(path)).digest('hex').slice(0, 16) });
  const root = readCatalog(context, 'root', {
    version: 1, run: {}, tables: { run: [slice('run-0', 11, 1, {}, ['run_name'])], metrics: [slice('metrics-0', 500, 9, {}, ['key', 'value']), slice('metrics-1', 400, 9, { step: [5, 9] }, ['key', 'value'])] },
    steps: steps.map(([step, evaluation, state]) => ({ step, evaluation, state, catalog: state === 'ok' ? listed(`${evaluation ? 'e' : 's'}${step}/catalog`) : null })),
  });
  return { root, fetched };
}

async function planned(sql, from = site()) {
  const analyses = statements(sql).map(({ tokens }) => analyse(tokens, TABLES));
  return planOf(analyses, TABLES, from.root);
}

test('a plan counts the bytes of the steps and files that can matter', async () => {
  const cases = [
    ['select lp_diff from tokens where step = 1 and not evaluation', 1200, 2],
    ['select lp_diff from tokens where step = 1', 2400, 4],
    ['select lp_diff from tokens where step = 1 and not evaluation and row = 7', 200, 1],
    ['select lp_diff from tokens where step = 1 and not evaluation and row = 3', 1200, 2],
    ['select lp_diff from tokens', 3600, 6],
    ['select lp_diff from tokens where step = 9', 0, 0],
    ['select lp_diff from tokens limit 50', 1000, 1],
    ['select lp_diff from tokens limit 51', 1200, 2],
    ['describe tokens', 0, 0],
    ['select * from run', 11, 1],
    ['select value from metrics where step < 3', 500, 1],
    ['select 1', 0, 0],
    ['select a.reward, t.lp_diff from samples a join tokens t using (step, evaluation, row) where step = 0', 1270, 3],
    ['select count(*) from tokens where step = 0; select count(*) from tokens where step = 0 and row = 9', 1200, 2],
  ];
  for (const [sql, bytes, files] of cases) {
    const plan = await planned(sql);
    assert.deepEqual([plan.bytes, plan.files], [bytes, files], sql);
  }
});

test('catalogues of other steps are not opened', async () => {
  const from = site();
  await planned('select lp_diff from tokens where step = 1 and evaluation', from);
  assert.deepEqual(from.fetched, ['e1/catalog']);
  await planned('select * from run', from);
  assert.equal(from.fetched.length, 1);
});

test('a derived column brings what it is made of, for the same steps', async () => {
  const plan = await planned('select token_text, imp_ratio from tokens where step = 0 limit 5');
  assert.deepEqual(plan.tables.map(one => [one.table.name, one.stored, one.parts.map(part => part.slice.path)]), [
    ['tokens', ['step', 'token_id', 'lp_diff'], ['s0/tokens-0']], ['token_texts', ['token_id', 'token_text'], ['s0/token_texts-0']]]);
  assert.equal(planWords(plan), 'tokens of step 0, token_texts of step 0');
});

test("a run's own columns are known from its files, steps without data are told", async () => {
  const plan = await planned('select * from samples');
  assert.ok(plan.tables[0].shown.includes('reward.x'));
  assert.deepEqual(plan.absent, ['step 2']);
  assert.equal(planWords(plan), 'samples of 2 steps and evaluation 1');
  assert.deepEqual((await planned('select count(*) from samples where not evaluation')).tables[0].stored, ['evaluation']);
});

/** An engine that remembers what it was told. */
function fakeDatabase() {
  const said = [];
  return { said, execute: async sql => { said.push(sql); }, append: async (name, frame, kinds) => { said.push(`${name} +${frame.length} ${Object.keys(kinds).join(' ')}`); } };
}

test('a loader fetches what is missing, once', async () => {
  const database = fakeDatabase();
  const loader = createLoader({ cache: new Map() }, database, TABLES);
  await loader.declare();
  assert.ok(database.said.some(sql => sql.startsWith('create or replace view main."tokens.parquet"') && sql.includes('exp(s.lp_diff)')));
  const empty = await planned('select lp_diff from tokens where step = 9');
  assert.equal(loader.missing(empty), 0);
  assert.equal(loader.missing(await planned('select lp_diff from tokens where step = 1 and not evaluation')), 1200);
  const aborted = AbortSignal.abort();
  await assert.rejects(loader.load(await planned('select lp_diff from tokens where step = 1'), { onProgress: () => {}, signal: aborted }));
});

const KINDS = { i: 'i64', f: 'f32', d: 'ts', b: 'bool', s: 'str', l: 'list[f64]' };

test('columns survive the way into the engine', () => {
  const columns = { i: [1, null, -(2 ** 40)], f: new Float32Array([0.5, NaN, -Infinity]), d: [1.25, 2, null], b: [true, null, false], s: ['é\u0000<', '', null], l: [[1, null], [], null] };
  const table = tableFromIPC(batchBytes({ length: 3, names: Object.keys(columns), columns }, KINDS));
  const read = name => Array.from(table.getChild(name), cell => (typeof cell === 'bigint' ? Number(cell) : cell === null || typeof cell !== 'object' ? cell : Array.from(cell)));
  assert.deepEqual(read('i'), [1, null, -(2 ** 40)]);
  assert.deepEqual(read('f'), [0.5, NaN, -Infinity]);
  assert.deepEqual(read('d'), [1.25, 2, null]);
  assert.deepEqual(read('b'), [true, null, false]);
  assert.deepEqual(read('s'), ['é\u0000<', '', null]);
  assert.deepEqual(read('l'), [[1, null], [], null]);
});

test('sums of whole numbers become numbers, beyond 2^53 text', async () => {
  assert.equal(decimal(new Uint32Array([5, 0, 0, 0]), 0), 5);
  assert.equal(decimal(new Uint32Array([0xfffffffb, 0xffffffff, 0xffffffff, 0xffffffff]), 0), -5);
  assert.equal(decimal(new Uint32Array([0, 0, 1, 0]), 0), '18446744073709551616');
  assert.equal(decimal(new Uint32Array([150, 0, 0, 0]), 2), 1.5);
  assert.deepEqual(uniqueNames(['a', 'a', 'a_1', 'a']), ['a', 'a_1', 'a_1_1', 'a_2']);
  const columns = { i: [1, 2, 3], s: ['a', 'b', null] };
  const table = tableFromIPC(batchBytes({ length: 3, names: ['i', 's'], columns }, KINDS));
  const reader = { schema: table.schema, async* [Symbol.asyncIterator]() { yield* table.batches; } };
  const result = await resultOf(reader, 2);
  assert.deepEqual(result.frame.columns, { i: [1, 2], s: ['a', 'b'] });
  assert.deepEqual([result.kinds, result.more], [{ i: 'integer', s: 'text' }, true]);
});

function resultFrom(columns, kinds) {
  const names = Object.keys(columns);
  return { frame: { length: columns[names[0]].length, names, columns }, kinds, more: false };
}

test('the drawing is guessed from what the columns are', () => {
  const kinds = { step: 'integer', row: 'integer', reward: 'number', status: 'text' };
  const rows = Array.from({ length: 60 }, (_, i) => i);
  assert.deepEqual(guess(resultFrom({ step: [1, 2], row: [3, 4], reward: [0.1, 0.2], status: ['a', 'b'] }, kinds)), { x: 'step', y: 'reward', kind: 'bar' });
  assert.equal(guess(resultFrom({ status: ['a', 'b'] }, kinds)), null);
  assert.equal(guess(resultFrom({ reward: [1] }, kinds)), null);
  assert.equal(kindFor(resultFrom({ step: rows }, kinds), 'step'), 'line');
  assert.equal(kindFor(resultFrom({ step: rows.map(() => 1) }, kinds), 'step'), 'points');
  assert.equal(kindFor(resultFrom({ status: rows.map(String) }, kinds), 'status'), 'bar');
});

test('cells are written as everywhere in the report, UTC included', () => {
  assert.equal(cellText(1770160445.25, 'time', 'since'), '2026-02-03 23:14:05.250 UTC');
  assert.equal(cellText(1770076800, 'date', 'day'), '2026-02-03');
  assert.equal(cellText(12345, 'integer', 'n'), '12\u202f345');
  assert.equal(cellText(12345, 'integer', 'row'), '12345');
  assert.equal(cellText('18446744073709551616', 'integer', 'sum'), '18446744073709551616');
  assert.equal(cellText(-0.21071, 'number', 'lp_diff'), '\u22120.2107');
  assert.equal(cellText(1770160445, 'number', 't0'), '2026-02-03 23:14:05 UTC');
  assert.equal(cellText(NaN, 'number', 'x'), 'not finite');
  assert.deepEqual(resultColumns(resultFrom({ a: [1], b: ['x'] }, { a: 'number', b: 'text' }), { href: path => path }, new Set()).map(column => column.numeric), [true, false]);
});

test('a result as Parquet reads back as it was', async () => {
  const columns = { n: [1, null, '9007199254740993'], x: [0.5, NaN, null], t: [1770160445.25, null, 0], s: ['é', null, ''], b: [true, false, null] };
  const bytes = parquetBytes(resultFrom(columns, { n: 'integer', x: 'number', t: 'time', s: 'text', b: 'boolean' }));
  const rows = await parquetReadObjects({ file: bytes });
  assert.deepEqual(rows.map(row => row.n ?? null), [1n, null, 9007199254740993n]);
  assert.deepEqual(rows.map(row => row.x ?? null), [0.5, NaN, null]);
  assert.deepEqual(rows.map(row => row.s ?? null), ['é', null, '']);
  assert.deepEqual(rows.map(row => row.b ?? null), [true, false, null]);
  assert.equal(rows[0].t.toISOString(), '2026-02-03T23:14:05.250Z');
});
