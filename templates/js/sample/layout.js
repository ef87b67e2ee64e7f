/**
 * Tokens broken into visual lines, as flat arrays: 100,000 tokens cost a few hundred kilobytes and no
 * DOM. A line never breaks inside a token, but for its own newlines and where it is wider than a line.
 */

/** @typedef {import('./segments.js').Segment} Segment */
/**
 * A piece is a part of a token's shown text on one line; line `k` holds pieces
 * `lineStart[k]` to `lineStart[k + 1]`, segment `s` lines `segmentLine[s]` to `segmentLine[s + 1]`.
 * @typedef {object} Layout
 * @property {Int32Array} pieceToken
 * @property {Int32Array} pieceFrom offsets into the shown text
 * @property {Int32Array} pieceTo
 * @property {Int32Array} lineStart
 * @property {Int32Array} segmentLine
 * @property {number} lines
 */

const BACK = 16; // pieces looked back for a space to break at

/**
 * @param {Segment[]} segments
 * @param {(index: number) => string} shown
 * @param {number} width cells of a line
 * @param {(text: string, index: number) => number} cells width of a text in cells
 * @returns {Layout}
 */
export function layOut(segments, shown, width, cells) {
  const pieces = new Growing(3);
  const lineStart = new Growing(1);
  const segmentLine = new Int32Array(segments.length + 1);
  let used = 0;

  function breakLine() {
    lineStart.push(pieces.length);
    used = 0;
  }

  function wrap() {
    const first = lineStart.last();
    for (let at = pieces.length - 1; at > first && at >= pieces.length - BACK; at -= 1) {
      if (pieces.get(at, 1) > 0) break;
      const text = shown(pieces.get(at, 0));
      if (!text.startsWith(' ')) continue;
      lineStart.push(at);
      used = 0;
      for (let next = at; next < pieces.length; next += 1) {
        const token = pieces.get(next, 0);
        used += cells(shown(token).slice(pieces.get(next, 1), pieces.get(next, 2)), token);
      }
      return;
    }
    breakLine();
  }

  /**
   * @param {number} token
   * @param {string} text
   * @param {number} from
   */
  function place(token, text, from) {
    const need = cells(text, token);
    if (used + need > width && used > 0) {
      if (text.startsWith(' ')) breakLine();
      else wrap();
      if (used + need > width && used > 0) breakLine();
    }
    if (need <= width) {
      pieces.push(token, from, from + text.length);
      used += need;
      return;
    }
    const step = Math.max(1, Math.floor((text.length * width) / need));
    for (let at = 0; at < text.length; ) {
      let end = Math.min(text.length, at + step);
      if (end < text.length && isLowSurrogate(text.charCodeAt(end))) end += end > at + 1 ? -1 : 1;
      if (at > 0) breakLine();
      pieces.push(token, from + at, from + end);
      used = cells(text.slice(at, end), token);
      at = end;
    }
  }

  segments.forEach((segment, index) => {
    segmentLine[index] = lineStart.length;
    breakLine();
    for (let token = segment.start; token < segment.end; token += 1) {
      const text = shown(token);
      let from = 0;
      for (let newline = text.indexOf('\n'); newline >= 0; newline = text.indexOf('\n', from)) {
        place(token, text.slice(from, newline), from);
        from = newline + 1;
        if (from < text.length || token + 1 < segment.end) breakLine();
      }
      if (from < text.length || text === '') place(token, text.slice(from), from);
    }
  });
  segmentLine[segments.length] = lineStart.length;
  const lines = lineStart.length;
  lineStart.push(pieces.length);
  return {
    pieceToken: pieces.column(0),
    pieceFrom: pieces.column(1),
    pieceTo: pieces.column(2),
    lineStart: lineStart.column(0),
    segmentLine,
    lines,
  };
}

/**
 * @param {Layout} layout
 * @param {number} token
 * @returns {number} first line that shows the token
 */
export function lineOf(layout, token) {
  let low = 0;
  let high = layout.lines - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    const lastPiece = layout.lineStart[middle + 1] - 1;
    if (lastPiece >= 0 && layout.pieceToken[lastPiece] >= token) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Largest magnitude of a series on each line, with its sign.
 * @param {Layout} layout
 * @param {import('./payload.js').Series} series
 * @returns {Float32Array} NaN for a line without a finite value
 */
export function lineExtremes(layout, series) {
  const extremes = new Float32Array(layout.lines).fill(NaN);
  for (let line = 0; line < layout.lines; line += 1) {
    for (let piece = layout.lineStart[line]; piece < layout.lineStart[line + 1]; piece += 1) {
      const token = layout.pieceToken[piece];
      const value = series.values[token];
      if (!series.known[token] || !Number.isFinite(value)) continue;
      if (!(Math.abs(extremes[line]) >= Math.abs(value))) extremes[line] = value;
    }
  }
  return extremes;
}

/**
 * @param {number} code
 * @returns {boolean}
 */
function isLowSurrogate(code) {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** Int32 rows that grow; typed, so that large samples stay small. */
class Growing {
  /** @param {number} columns */
  constructor(columns) {
    this.columns = columns;
    this.length = 0;
    this.store = new Int32Array(columns * 1024);
  }

  /** @param {...number} values */
  push(...values) {
    if ((this.length + 1) * this.columns > this.store.length) {
      const larger = new Int32Array(this.store.length * 2);
      larger.set(this.store);
      this.store = larger;
    }
    this.store.set(values, this.length * this.columns);
    this.length += 1;
  }

  /**
   * @param {number} row
   * @param {number} column
   */
  get(row, column) {
    return this.store[row * this.columns + column];
  }

  last() {
    return this.store[(this.length - 1) * this.columns];
  }

  /** @param {number} column */
  column(column) {
    return Int32Array.from({ length: this.length }, (_, row) => this.get(row, column));
  }
}
