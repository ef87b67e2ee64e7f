/**
 * Columns to the bytes of an Arrow stream, as the engine takes them.
 */

import { Bool, Data, Field, Float32, Float64, Int64, List, RecordBatch, RecordBatchStreamWriter, Schema, Struct, Utf8, makeData } from 'apache-arrow';

/** @typedef {import('../types').Frame} Frame */

/**
 * @param {Frame} frame
 * @param {Record<string, string>} kinds of the schema, by column
 * @returns {Uint8Array}
 */
export function batchBytes(frame, kinds) {
  const columns = frame.names.map(name => columnData(frame.columns[name], kinds[name] ?? 'str'));
  const fields = frame.names.map((name, i) => new Field(name, columns[i].type, true));
  const rows = makeData({ type: new Struct(fields), length: frame.length, nullCount: 0, children: columns });
  const batch = new RecordBatch(new Schema(fields), rows);
  const writer = new RecordBatchStreamWriter();
  writer.write(batch);
  writer.finish();
  return writer.toUint8Array(true);
}

/**
 * @param {ArrayLike<any>} cells
 * @param {string} kind
 * @returns {Data}
 */
function columnData(cells, kind) {
  const { nullBitmap, nullCount } = validity(cells);
  const length = cells.length;
  if (kind.startsWith('list[')) return listData(cells, kind.slice(5, -1), nullBitmap, nullCount);
  if (kind === 'i64') return makeData({ type: new Int64(), length, nullCount, nullBitmap, data: wholeNumbers(cells) });
  if (kind === 'f32') return makeData({ type: new Float32(), length, nullCount, nullBitmap, data: numbers(cells, Float32Array) });
  if (kind === 'f64' || kind === 'ts') return makeData({ type: new Float64(), length, nullCount, nullBitmap, data: numbers(cells, Float64Array) });
  if (kind === 'bool') return makeData({ type: new Bool(), length, nullCount, nullBitmap, data: bits(cells, cell => cell === true) });
  return textData(cells, nullBitmap, nullCount);
}

/**
 * @param {ArrayLike<any>} cells
 * @returns {{nullBitmap: Uint8Array | undefined, nullCount: number}} no bitmap where nothing is absent
 */
function validity(cells) {
  if (ArrayBuffer.isView(cells)) return { nullBitmap: undefined, nullCount: 0 };
  let nullCount = 0;
  for (let i = 0; i < cells.length; i++) if (cells[i] === null || cells[i] === undefined) nullCount++;
  if (!nullCount) return { nullBitmap: undefined, nullCount };
  return { nullBitmap: bits(cells, cell => cell !== null && cell !== undefined), nullCount };
}

/**
 * @param {ArrayLike<any>} cells
 * @param {(cell: any) => boolean} test
 * @returns {Uint8Array} one bit a cell, the lowest first, padded to 8 bytes
 */
function bits(cells, test) {
  const bitmap = new Uint8Array(Math.ceil(cells.length / 64) * 8);
  for (let i = 0; i < cells.length; i++) if (test(cells[i])) bitmap[i >> 3] |= 1 << (i & 7);
  return bitmap;
}

/**
 * @template {Float32ArrayConstructor | Float64ArrayConstructor} C
 * @param {ArrayLike<any>} cells
 * @param {C} Kind
 * @returns {InstanceType<C>}
 */
function numbers(cells, Kind) {
  if (cells instanceof Kind) return /** @type {InstanceType<C>} */ (cells);
  const found = new Kind(cells.length);
  for (let i = 0; i < cells.length; i++) found[i] = cells[i] ?? 0;
  return /** @type {InstanceType<C>} */ (found);
}

/**
 * Whole numbers as 64 bits, without a BigInt for each.
 *
 * @param {ArrayLike<any>} cells
 * @returns {BigInt64Array}
 */
function wholeNumbers(cells) {
  const found = new BigInt64Array(cells.length);
  const halves = new Int32Array(found.buffer); // little-endian, as WebAssembly is
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i] ?? 0;
    const low = cell | 0;
    if (low === cell) {
      halves[2 * i] = low;
      halves[2 * i + 1] = low < 0 ? -1 : 0;
    } else if (Number.isFinite(cell)) {
      found[i] = BigInt(Math.trunc(cell));
    }
  }
  return found;
}

/**
 * @param {ArrayLike<any>} cells
 * @param {Uint8Array | undefined} nullBitmap
 * @param {number} nullCount
 * @returns {Data}
 */
function textData(cells, nullBitmap, nullCount) {
  const encoder = new TextEncoder();
  const valueOffsets = new Int32Array(cells.length + 1);
  let data = new Uint8Array(1024);
  let end = 0;
  for (let i = 0; i < cells.length; i++) {
    const text = textOf(cells[i]);
    if (end + text.length * 3 > data.length) data = grown(data, end + text.length * 3);
    end += encoder.encodeInto(text, data.subarray(end)).written;
    valueOffsets[i + 1] = end;
  }
  return makeData({ type: new Utf8(), length: cells.length, nullCount, nullBitmap, valueOffsets, data: data.subarray(0, end) });
}

/**
 * @param {any} cell
 * @returns {string}
 */
function textOf(cell) {
  if (cell === null || cell === undefined) return '';
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
}

/**
 * @param {Uint8Array<ArrayBuffer>} data
 * @param {number} needed
 * @returns {Uint8Array<ArrayBuffer>}
 */
function grown(data, needed) {
  const larger = new Uint8Array(Math.max(needed, data.length * 2));
  larger.set(data);
  return larger;
}

/**
 * @param {ArrayLike<any>} cells
 * @param {string} kind of the items
 * @param {Uint8Array | undefined} nullBitmap
 * @param {number} nullCount
 * @returns {Data}
 */
function listData(cells, kind, nullBitmap, nullCount) {
  const valueOffsets = new Int32Array(cells.length + 1);
  /** @type {any[]} */
  const items = [];
  for (let i = 0; i < cells.length; i++) {
    for (const item of cells[i] ?? []) items.push(item);
    valueOffsets[i + 1] = items.length;
  }
  const child = columnData(items, kind);
  const type = new List(new Field('item', child.type, true));
  return makeData({ type, length: cells.length, nullCount, nullBitmap, valueOffsets, child });
}
