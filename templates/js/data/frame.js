/** @typedef {import('../types').Frame} Frame */

/**
 * One plain array of a column's chunks: numbers, booleans, strings, lists; absent is null.
 *
 * @param {ArrayLike<any>[]} chunks
 * @returns {ArrayLike<any>} a typed array where every chunk was one of the same type, else an array
 */
export function plainColumn(chunks) {
  const plain = chunks.map(plainChunk);
  if (plain.length === 1) return plain[0];
  const length = plain.reduce((sum, chunk) => sum + chunk.length, 0);
  const first = plain[0];
  const typed = first instanceof Float64Array || first instanceof Float32Array || first instanceof Int32Array;
  const same = typed && plain.every(chunk => chunk.constructor === first.constructor);
  /** @type {any} */
  const whole = same ? new (/** @type {any} */ (first.constructor))(length) : new Array(length);
  let at = 0;
  for (const chunk of plain) {
    for (let i = 0; i < chunk.length; i++) whole[at + i] = chunk[i];
    at += chunk.length;
  }
  return whole;
}

/**
 * @param {ArrayLike<any>} chunk
 * @returns {ArrayLike<any>}
 */
function plainChunk(chunk) {
  if (chunk instanceof BigInt64Array || chunk instanceof BigUint64Array) return Float64Array.from(chunk, Number);
  if (ArrayBuffer.isView(chunk)) return chunk;
  return Array.from(chunk, plainValue);
}

/**
 * @param {any} value
 * @returns {any}
 */
function plainValue(value) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plainValue);
  if (ArrayBuffer.isView(value)) return Array.from(/** @type {any} */ (value), plainValue);
  return value;
}

/**
 * Frames one below the other. A column that one of them lacks is null there.
 *
 * @param {Frame[]} frames
 * @returns {Frame} no names if there are no frames
 */
export function concatFrames(frames) {
  if (frames.length === 1) return frames[0];
  const names = [...new Set(frames.flatMap(frame => frame.names))];
  /** @type {Frame['columns']} */
  const columns = {};
  for (const name of names) {
    columns[name] = plainColumn(frames.map(frame => frame.columns[name] ?? new Array(frame.length).fill(null)));
  }
  return { length: frames.reduce((sum, frame) => sum + frame.length, 0), names, columns };
}

/**
 * The rows where every named column equals its value.
 *
 * @param {Frame} frame
 * @param {Record<string, any>} where a column that the frame lacks matches nothing
 * @returns {Frame}
 */
export function whereRows(frame, where) {
  const tests = Object.entries(where).map(([name, value]) => ({ array: frame.columns[name], value }));
  const rows = [];
  for (let i = 0; i < frame.length; i++) {
    if (tests.every(({ array, value }) => array !== undefined && array[i] === value)) rows.push(i);
  }
  return takeRows(frame, rows);
}

/**
 * @param {Frame} frame
 * @param {ArrayLike<number>} rows row numbers, in the order wanted
 * @returns {Frame}
 */
export function takeRows(frame, rows) {
  /** @type {Frame['columns']} */
  const columns = {};
  for (const name of frame.names) {
    const array = frame.columns[name];
    /** @type {any} */
    const taken = ArrayBuffer.isView(array) ? new (/** @type {any} */ (array.constructor))(rows.length) : new Array(rows.length);
    for (let i = 0; i < rows.length; i++) taken[i] = array[rows[i]];
    columns[name] = taken;
  }
  return { length: rows.length, names: frame.names, columns };
}

/**
 * @param {Frame} frame
 * @param {number} row
 * @returns {Record<string, any>} one row by column name
 */
export function rowOf(frame, row) {
  return Object.fromEntries(frame.names.map(name => [name, frame.columns[name][row]]));
}
