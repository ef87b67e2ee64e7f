/** Level of detail of the chart over position: lowest and highest value a pixel, so that no spike is lost. */

/** @typedef {import('./payload.js').Series} Series */
/**
 * @typedef {object} Envelope
 * @property {Float64Array} low lowest finite value of each column; NaN without any
 * @property {Float64Array} high
 * @property {Uint8Array} strange 1 where a column holds a value that is not finite
 */

/**
 * @param {Series} series
 * @param {number} columns pixels
 * @returns {Envelope}
 */
export function envelope(series, columns) {
  const low = new Float64Array(columns).fill(NaN);
  const high = new Float64Array(columns).fill(NaN);
  const strange = new Uint8Array(columns);
  const { values, known } = series;
  for (let i = 0; i < values.length; i += 1) {
    if (!known[i]) continue;
    const column = Math.min(columns - 1, Math.floor((i * columns) / values.length));
    const value = values[i];
    if (!Number.isFinite(value)) {
      strange[column] = 1;
      continue;
    }
    if (!(low[column] <= value)) low[column] = value;
    if (!(high[column] >= value)) high[column] = value;
  }
  return { low, high, strange };
}
