import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { decompress } from 'fzstd';
import { openCatalog, readCatalog } from '../../templates/js/data/catalog.js';
import { FileProtocolError, SliceError } from '../../templates/js/data/errors.js';
import { fetchBytes } from '../../templates/js/data/fetch.js';
import { contentHash, sha256 } from '../../templates/js/data/sha256.js';
import { hasMagic, pickSlices, readSlice, readTable } from '../../templates/js/data/slices.js';

const folder = new URL('../data/slices/', import.meta.url);
const COLUMNS = ['row', 'big', 'reward', 'text', 'flag', 'versions'];

function bytesOf(name) {
  const bytes = readFileSync(new URL(name, folder));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

function hashOf(bytes) {
  return createHash('sha256').update(new Uint8Array(bytes)).digest('hex').slice(0, 16);
}

function sliceOf(path, rows, columns, keys = {}, bytes = bytesOf(path)) {
  return { path, bytes: bytes.byteLength, sha256: hashOf(bytes), rows, columns, keys };
}

/** A context whose files lie in the test data; counts what is fetched. */
function contextOf(files = {}, { rebuilt = false } = {}) {
  const fetched = [];
  return {
    rebuilt: async () => rebuilt,
    fetched,
    cache: new Map(),
    codecs: { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) },
    fetch: async path => {
      fetched.push(path);
      return files[path] ?? bytesOf(path);
    },
  };
}

test('nulls, integers, text, booleans and lists arrive as plain values', async () => {
  const frame = await readSlice(contextOf(), sliceOf('rows.parquet', 6, COLUMNS));
  assert.deepEqual(frame.names, COLUMNS);
  assert.equal(frame.length, 6);
  assert.deepEqual([...frame.columns.row], [0, 0, 1, 2, 2, 2]);
  assert.deepEqual([...frame.columns.big], [2 ** 40, 0, -1, 5, 6, 7]);
  assert.deepEqual([...frame.columns.reward], [0.5, null, NaN, Infinity, -2.25, 1e-9]);
  assert.deepEqual([...frame.columns.text], ['a', null, '</script>', '\u2028', 'naïve 中文', '']);
  assert.deepEqual([...frame.columns.flag], [true, null, false, true, true, false]);
  assert.deepEqual([...frame.columns.versions], [['1', '2'], null, [], ['3'], ['x', null], ['y']]);
});

test('required numbers are typed arrays, through zstd and byte stream split too', async () => {
  const frame = await readSlice(contextOf(), sliceOf('tokens.parquet', 5, ['row', 'lp_diff']));
  assert.ok(frame.columns.lp_diff instanceof Float32Array);
  assert.ok(frame.columns.row instanceof Float64Array);
  assert.deepEqual([...frame.columns.lp_diff], [0.5, -0.25, 0, 1, 2]);
});

test('a file is fetched once, a column decoded once', async () => {
  const context = contextOf();
  const slice = sliceOf('rows.parquet', 6, COLUMNS);
  const [one, other] = await Promise.all([readSlice(context, slice, { columns: ['row'] }), readSlice(context, slice)]);
  assert.deepEqual(context.fetched, ['rows.parquet']);
  assert.equal(one.columns.row, other.columns.row);
  assert.deepEqual(one.names, ['row']);
});

test('where picks the slices by key and then the rows', async () => {
  const context = contextOf();
  const near = sliceOf('rows.parquet', 6, COLUMNS, { row: [0, 2] });
  const far = sliceOf('tokens.parquet', 5, ['row', 'lp_diff'], { row: [3, 3] });
  const catalog = { slices: () => [near, far] };
  const frame = await readTable(context, catalog, 'x', { columns: ['text'], where: { row: 2 } });
  assert.deepEqual(context.fetched, ['rows.parquet']);
  assert.deepEqual([...frame.columns.text], ['\u2028', 'naïve 中文', '']);
  assert.deepEqual(pickSlices([near, far], { row: 3 }), [far]);
  assert.deepEqual(pickSlices([near, far], { other: 3 }), [near, far]);
});

test('a table without files has no rows', async () => {
  const frame = await readTable(contextOf(), { slices: () => [] }, 'x', { columns: ['row'] });
  assert.deepEqual(frame, { length: 0, names: ['row'], columns: { row: [] } });
});

test('a cut, altered or undecodable file is named in a sentence, and can be tried again', async () => {
  const slice = sliceOf('rows.parquet', 6, COLUMNS);
  const whole = bytesOf('rows.parquet');
  const cut = contextOf({ 'rows.parquet': whole.slice(0, 100) });
  await assert.rejects(readSlice(cut, slice), { name: 'SliceError', message: /rows\.parquet has 100 bytes where \d+ were written/ });
  const altered = new Uint8Array(whole.slice(0));
  altered[0] = 0;
  await assert.rejects(readSlice(contextOf({ 'rows.parquet': altered.buffer }), slice), /rows\.parquet was altered: its hash is not/);
  const foreign = sliceOf('rows.parquet', 6, COLUMNS, {}, altered.buffer);
  await assert.rejects(readSlice(contextOf({ 'rows.parquet': altered.buffer }), foreign), /is not a Parquet file/);
  const broken = new Uint8Array(whole.slice(0)).fill(0xff, 4, 300);
  const undecodable = sliceOf('rows.parquet', 6, COLUMNS, {}, broken.buffer);
  await assert.rejects(readSlice(contextOf({ 'rows.parquet': broken.buffer }), undecodable), /could not be decoded/);
  await assert.rejects(readSlice(cut, { ...slice, rows: 7 }), SliceError);
  assert.equal(cut.cache.size, 0);
});

test('where the report was rebuilt, that is said instead', async () => {
  const slice = sliceOf('rows.parquet', 6, COLUMNS);
  const gone = contextOf({ 'rows.parquet': new ArrayBuffer(8) }, { rebuilt: true });
  await assert.rejects(readSlice(gone, slice), { name: 'RebuiltError', message: /was rebuilt since this page was opened.*reload it/ });
});

test('catalogues are proved: by the hash in their name, or by the catalogue that lists them', async () => {
  const encode = value => new TextEncoder().encode(JSON.stringify(value)).buffer;
  const step = encode({ version: 1, step: 3, facts: { run_name: 'r' }, tables: {} });
  const entry = { path: 'data/step-3/catalog.json', bytes: step.byteLength, sha256: hashOf(step) };
  const root = encode({ version: 1, run: {}, tables: {}, steps: [{ step: 3, evaluation: false, state: 'ok', catalog: entry }] });
  const path = `data/catalog-${hashOf(root)}.json`;
  const files = { [path]: root, [entry.path]: encode({ version: 1, tables: {} }) };
  const catalog = await openCatalog(contextOf(files), path);
  await assert.rejects(catalog.step(3, false), /step-3\/catalog\.json has \d+ bytes where/);
  files[entry.path] = step;
  assert.deepEqual((await catalog.step(3, false)).facts, { run_name: 'r' });
  await assert.rejects(openCatalog(contextOf({ [path]: step }), path), /was altered: its hash is not the one in its name/);
});

test('the hash is the same where the browser does not offer it', async () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 70_001]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + 7) % 256);
    const own = Buffer.from(sha256(bytes)).toString('hex');
    assert.equal(own, createHash('sha256').update(bytes).digest('hex'));
    assert.equal(await contentHash(bytes.buffer), own.slice(0, 16));
  }
});

/** Answers, one a call; an Error is a connection that failed. */
async function withAnswers(answers, act) {
  const { fetch } = globalThis;
  const asked = [];
  globalThis.fetch = async (address, options) => {
    asked.push(address);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  try {
    return { asked, value: await act().catch(error => error) };
  } finally {
    globalThis.fetch = fetch;
  }
}

const found = () => new Response(new Uint8Array([1, 2, 3]));
const broken = () => new TypeError('network');

test('a connection that fails is tried once more, a file that is missing is not', async () => {
  const act = () => fetchBytes('../data/x.parquet', false);
  const twice = await withAnswers([broken(), found()], act);
  assert.equal(twice.value.byteLength, 3);
  assert.deepEqual(twice.asked, ['../data/x.parquet', '../data/x.parquet']);
  const down = await withAnswers([new Response('', { status: 503 }), new Response('', { status: 503 })], act);
  assert.match(down.value.message, /^data\/x\.parquet could not be fetched: the server answered 503\.$/);
  const gone = await withAnswers([new Response('', { status: 404 })], act);
  assert.match(gone.value.message, /^data\/x\.parquet is missing from this site \(the server answered 404\)/);
  assert.equal(gone.asked.length, 1);
  const failed = await withAnswers([broken(), broken()], act);
  assert.match(failed.value.message, /the connection failed/);
});

test('a file with another number of rows than was written is refused', async () => {
  await assert.rejects(readSlice(contextOf(), { ...sliceOf('rows.parquet', 7, COLUMNS) }), /6 rows of row where 7 were written/);
});

test('a file without the codec of this bundle fails in words', async () => {
  const context = { ...contextOf(), codecs: {} };
  await assert.rejects(readSlice(context, sliceOf('tokens.parquet', 5, ['row', 'lp_diff'])), /tokens\.parquet could not be decoded/);
});

test('the magic stands at both ends', () => {
  assert.ok(hasMagic(bytesOf('rows.parquet')));
  assert.ok(!hasMagic(new TextEncoder().encode('PAR1').buffer));
  assert.ok(!hasMagic(new TextEncoder().encode('PAR1........XXXX').buffer));
});

test('nothing is fetched on file:, and the error says what to do', async () => {
  await assert.rejects(fetchBytes('../data/x.parquet', true), FileProtocolError);
  await assert.rejects(fetchBytes('../data/x.parquet', true), /python -m http\.server/);
});

test('a catalogue of another version is refused in words', () => {
  assert.throws(() => readCatalog(contextOf(), 'data/c.json', { version: 2 }), /another version of miles-report/);
  assert.throws(() => readCatalog(contextOf(), 'data/c.json', null), SliceError);
});

test('a step without data says which and why', async () => {
  const steps = [{ step: 3, evaluation: false, state: 'broken', catalog: null }];
  const catalog = readCatalog(contextOf(), 'data/c.json', { version: 1, steps, tables: {} });
  await assert.rejects(catalog.step(3, false), /Step 3 has no data here \(broken\)/);
  await assert.rejects(catalog.step(4, true), /Eval of step 4 is not in this report/);
  assert.deepEqual(catalog.slices('metrics'), []);
});
