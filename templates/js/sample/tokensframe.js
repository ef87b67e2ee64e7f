/** The tokens of a sample as a table, for download: what is not recorded is null. */

import { seriesNames } from './series.js';

/**
 * @param {import('./tokens.js').Tokens} tokens
 * @returns {import('../types').Frame}
 */
export function tokensFrame(tokens) {
  const { data, length } = tokens;
  const rows = Array.from({ length }, (_, index) => index);
  const names = seriesNames(data).filter((name) => data.series.has(name));
  /** @type {Record<string, ArrayLike<any>>} */
  const columns = {
    position: rows,
    token_id: data.ids,
    token_text: rows.map((index) => tokens.text(index)),
    in_response: rows.map((index) => index >= data.offset),
    loss_mask: rows.map((index) => (data.mask[index] < 0 ? null : data.mask[index])),
  };
  for (const name of names) {
    const series = data.series.get(name);
    columns[name] = rows.map((index) => (series?.known[index] ? series.values[index] : null));
  }
  return { length, names: Object.keys(columns), columns };
}
