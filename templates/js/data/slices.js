import { parquetMetadata, parquetRead } from 'hyparquet';
import { SliceError } from './errors.js';
import { fetchListed } from './fetch.js';
import { concatFrames, plainColumn, whereRows } from './frame.js';

/**
 * @typedef {import('../types').Catalog} Catalog
 * @typedef {import('../types').Context} Context
 * @typedef {import('../types').Frame} Frame
 * @typedef {import('../types').Slice} Slice
 * @typedef {Record<string, number | boolean | string>} Where
 */

/**
 * All rows of one slice.
 *
 * @param {Context} context
 * @param {Slice} slice
 * @param {{columns?: string[]}} [options] columns: only these; one the file lacks is left out
 * @returns {Promise<Frame>} rejects with SliceError or FileProtocolError
 */
export async function readSlice(context, slice, { columns } = {}) {
  const buffer = await cached(context, slice.path, () => fetchSlice(context, slice));
  const wanted = columns ? slice.columns.filter(name => columns.includes(name)) : slice.columns;
  const parts = wanted.map(name => cached(context, `${slice.path}#${name}`, () => decode(context, slice, buffer, name)));
  const arrays = await Promise.all(parts);
  return { length: slice.rows, names: wanted, columns: Object.fromEntries(wanted.map((name, i) => [name, arrays[i]])) };
}

/**
 * The rows of a table, from as few of its slices as the keys allow, fetched in parallel.
 *
 * @param {Context} context
 * @param {Catalog} catalog
 * @param {string} table
 * @param {{columns?: string[], where?: Where}} [options] where: column = value, all of them
 * @returns {Promise<Frame>} zero rows where the table has no file; rejects as readSlice does
 */
export async function readTable(context, catalog, table, { columns, where } = {}) {
  const slices = pickSlices(catalog.slices(table), where);
  const needed = columns && where ? [...new Set([...columns, ...Object.keys(where)])] : columns;
  const frames = await Promise.all(slices.map(slice => readSlice(context, slice, { columns: needed })));
  const whole = concatFrames(frames.map(frame => (where ? whereRows(frame, where) : frame)));
  if (whole.names.length) return whole;
  const names = columns ?? [];
  return { length: 0, names, columns: Object.fromEntries(names.map(name => [name, []])) };
}

/**
 * @param {Slice[]} slices
 * @param {Where} [where]
 * @returns {Slice[]} those whose key ranges can hold such rows
 */
export function pickSlices(slices, where) {
  if (!where) return slices;
  return slices.filter(slice => Object.entries(where).every(([name, value]) => {
    const range = slice.keys?.[name];
    return !range || typeof value !== 'number' || (range[0] <= value && value <= range[1]);
  }));
}

/**
 * @template T
 * @param {Context} context
 * @param {string} key
 * @param {() => Promise<T>} make
 * @returns {Promise<T>} failures are not kept, so that a retry fetches again
 */
function cached(context, key, make) {
  const known = context.cache.get(key);
  if (known) return known;
  const made = make();
  context.cache.set(key, made);
  made.catch(() => context.cache.delete(key));
  return made;
}

/**
 * @param {Context} context
 * @param {Slice} slice
 * @returns {Promise<ArrayBuffer>}
 */
async function fetchSlice(context, slice) {
  const buffer = await fetchListed(context, slice);
  if (!hasMagic(buffer)) {
    throw new SliceError(slice.path, `${slice.path} is not a Parquet file: it was altered. Build or copy the site again.`);
  }
  return buffer;
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {boolean} whether it begins and ends as a Parquet file does
 */
export function hasMagic(buffer) {
  const bytes = new Uint8Array(buffer);
  const magic = [0x50, 0x41, 0x52, 0x31];
  return bytes.length >= 12 && magic.every((byte, i) => bytes[i] === byte && bytes[bytes.length - 4 + i] === byte);
}

/**
 * @param {Context} context
 * @param {Slice} slice
 * @param {ArrayBuffer} buffer
 * @param {string} column
 * @returns {Promise<ArrayLike<any>>}
 */
async function decode(context, slice, buffer, column) {
  const file = { byteLength: buffer.byteLength, slice: (/** @type {number} */ start, /** @type {number} */ end) => buffer.slice(start, end) };
  /** @type {{rowStart: number, columnData: ArrayLike<any>}[]} */
  const chunks = [];
  try {
    const metadata = await cached(context, `${slice.path}#`, async () => parquetMetadata(buffer));
    await parquetRead({ file, metadata, columns: [column], compressors: context.codecs, geoparquet: false, onChunk: chunk => chunks.push(chunk) });
  } catch (cause) {
    throw new SliceError(slice.path, `${slice.path} could not be decoded (column ${column}). Build or copy the site again.`, cause);
  }
  const found = chunks.reduce((sum, chunk) => sum + chunk.columnData.length, 0);
  if (found !== slice.rows) {
    throw new SliceError(slice.path, `${slice.path} has ${found} rows of ${column} where ${slice.rows} were written. Build or copy the site again.`);
  }
  return plainColumn(chunks.sort((a, b) => a.rowStart - b.rowStart).map(chunk => chunk.columnData));
}
