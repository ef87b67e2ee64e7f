/** Where tokens that stand out are in the text of a message: the way from reading to the tokens tab. */

/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {{from: number, to: number, position: number, ratio: number}} Mark */

export const BRIDGED_RATIO = 10; // from which the token scale is at its end

/**
 * @param {Tokens} tokens
 * @returns {number[]} positions whose ratio is above BRIDGED_RATIO
 */
export function strongTokens(tokens) {
  const ratio = tokens.data.series.get('imp_ratio');
  if (!ratio) return [];
  const found = [];
  for (let i = 0; i < tokens.length; i += 1) {
    if (ratio.known[i] && ratio.values[i] > BRIDGED_RATIO) found.push(i);
  }
  return found;
}

/**
 * Marks of a part of a turn's message; none where the part does not stand in the turn's tokens as it is.
 * @param {Tokens} tokens
 * @param {number} turn
 * @param {string} text
 * @returns {Mark[]} in order, apart from each other
 */
export function marksIn(tokens, turn, text) {
  const segment = tokens.segments.find((one) => one.kind === 'turn' && one.turn === turn);
  const ratio = tokens.data.series.get('imp_ratio');
  if (!segment || !ratio || text === '') return [];
  const strong = strongTokens(tokens).filter((at) => at >= segment.start && at < segment.end);
  if (strong.length === 0) return [];
  let whole = '';
  /** @type {Map<number, number>} */
  const starts = new Map();
  for (let i = segment.start; i < segment.end; i += 1) {
    starts.set(i, whole.length);
    whole += tokens.text(i) ?? '';
  }
  const at = whole.indexOf(text);
  if (at < 0) return [];
  return strong
    .map((position) => {
      const start = /** @type {number} */ (starts.get(position)) - at;
      const end = start + (tokens.text(position) ?? '').length;
      return { from: Math.max(0, start), to: Math.min(text.length, end), position, ratio: ratio.values[position] };
    })
    .filter((mark) => mark.to > mark.from);
}
