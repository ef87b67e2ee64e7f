/**
 * The JSON of a sample page (`pages/sample_payload.py`) as arrays that can be drawn.
 * Null is "not recorded"; the words NaN, Infinity and -Infinity are numbers that are not finite.
 */

/**
 * One per-token series. `known[i]` is 0 where the value is null.
 * @typedef {{name: string, values: Float32Array, known: Uint8Array, count: number}} Series
 */
/** @typedef {{row: number, sample_index: number|null, reward_value: number|null, response_length: number|null, status: string|null}} Sibling */
/** @typedef {{kind: string, t0: number|null, t1: number|null, turn: number, weight_version: string|null, status: string|null}} Span */
/** @typedef {{messages: any, prompt: any}} Conversation */
/**
 * @typedef {object} SampleData
 * @property {{run_name: string, start_ts: number|null, t0: number|null, has_tokenizer: boolean, args: Record<string, any>}} facts
 * @property {Record<string, any>} sample
 * @property {Sibling[]} group
 * @property {Record<string, any>|null} groupRow
 * @property {{previous: number|null, next: number|null}} neighbours
 * @property {number} offset index of the first response token
 * @property {Int32Array} ids
 * @property {Int8Array} mask 1 trained, 0 masked, -1 not recorded
 * @property {Map<string, Series>} series
 * @property {Map<number, string>} texts token text by id
 * @property {Conversation|null} conversation
 * @property {{prompt: any, response: string|null}} recorded
 * @property {Span[]} spans
 */

const WORDS = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);
const TEXT_COLUMNS = new Set(['status', 'weight_version', 'label', 'adapter']);

/**
 * @param {unknown} value
 * @returns {any} the number that a word stands for; anything else as it is
 */
export function decodeNumber(value) {
  return typeof value === 'string' && WORDS.has(value) ? WORDS.get(value) : value;
}

/**
 * @param {Record<string, any>} record a row of `samples` or of `groups`
 * @returns {Record<string, any>}
 */
export function decodeRow(record) {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      TEXT_COLUMNS.has(name) ? value : decodeNumber(value),
    ]),
  );
}

/**
 * @param {string} name
 * @param {ArrayLike<any>} column numbers, null, or the words for what is not finite
 * @returns {Series}
 */
export function readSeries(name, column) {
  const values = new Float32Array(column.length);
  const known = new Uint8Array(column.length);
  let count = 0;
  for (let i = 0; i < column.length; i += 1) {
    const value = decodeNumber(column[i]);
    if (value === null || value === undefined) continue;
    values[i] = Number(value);
    known[i] = 1;
    count += 1;
  }
  return { name, values, known, count };
}

/**
 * imp_ratio = exp(lp_diff), the one number that the browser derives.
 * @param {Series} difference
 * @returns {Series}
 */
export function ratioOf(difference) {
  return {
    name: 'imp_ratio',
    values: Float32Array.from(difference.values, Math.exp),
    known: difference.known,
    count: difference.count,
  };
}

/**
 * @param {Record<string, ArrayLike<any>>} columns
 * @returns {Map<string, Series>} in the order of the tokens table, imp_ratio behind lp_diff
 */
function readAllSeries(columns) {
  /** @type {Map<string, Series>} */
  const series = new Map();
  for (const [name, column] of Object.entries(columns)) {
    if (name === 'token_id' || name === 'loss_mask') continue;
    const one = readSeries(name, column);
    if (one.count === 0) continue;
    series.set(name, one);
    if (name === 'lp_diff') series.set('imp_ratio', ratioOf(one));
  }
  return series;
}

/**
 * @param {any} payload
 * @returns {SampleData}
 */
export function readPayload(payload) {
  const ids = Int32Array.from(payload.tokens.token_id);
  const mask = new Int8Array(ids.length).fill(-1);
  const recorded = payload.tokens.loss_mask ?? [];
  for (let i = 0; i < recorded.length; i += 1) {
    if (recorded[i] !== null && recorded[i] !== undefined) mask[i] = recorded[i] > 0 ? 1 : 0;
  }
  return {
    facts: payload.facts,
    sample: decodeRow(payload.sample),
    group: payload.group.map(decodeRow),
    groupRow: payload.group_row ? decodeRow(payload.group_row) : null,
    neighbours: payload.neighbours,
    offset: payload.response_offset,
    ids,
    mask,
    series: readAllSeries(payload.tokens),
    texts: new Map(
      Object.entries(payload.token_texts).map(([id, text]) => [Number(id), String(text)]),
    ),
    conversation: payload.conversation,
    recorded: payload.texts,
    spans: payload.spans.map(decodeRow),
  };
}

/**
 * @param {any} payload
 * @returns {string} JSON in which numbers that are not finite are words, typed arrays plain ones
 */
export function payloadText(payload) {
  return JSON.stringify(payload, (_, value) => {
    if (ArrayBuffer.isView(value)) return Array.from(/** @type {any} */ (value));
    return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  });
}
