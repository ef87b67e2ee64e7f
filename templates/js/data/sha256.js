/** SHA-256, as files are named: by the browser where it offers it (https, this machine), else here. */

/** Hex digits of the hash in names and catalogues. */
const DIGITS = 16;

/**
 * What names a file by its content.
 *
 * @param {ArrayBuffer} content
 * @returns {Promise<string>} the first 16 hex digits of its SHA-256
 */
export async function contentHash(content) {
  const subtle = globalThis.crypto?.subtle;
  const digest = subtle ? new Uint8Array(await subtle.digest('SHA-256', content)) : sha256(new Uint8Array(content));
  return Array.from(digest.subarray(0, DIGITS / 2), byte => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array} 32 bytes
 */
export function sha256(bytes) {
  const { words, start } = CONSTANTS;
  const state = Uint32Array.from(start);
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const schedule = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += 64) block(view, at, schedule, words, state);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setUint32(i * 4, word));
  return new Uint8Array(digest.buffer);
}

/**
 * @param {DataView} view
 * @param {number} at
 * @param {Uint32Array} schedule
 * @param {Uint32Array} words
 * @param {Uint32Array} state
 */
function block(view, at, schedule, words, state) {
  for (let i = 0; i < 16; i++) schedule[i] = view.getUint32(at + i * 4);
  for (let i = 16; i < 64; i++) {
    const early = schedule[i - 15];
    const late = schedule[i - 2];
    const low = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const high = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    schedule[i] = schedule[i - 16] + low + schedule[i - 7] + high;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + words[i] + schedule[i]) | 0;
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] += word; });
}

/** @param {number} word @param {number} by @returns {number} */
function turned(word, by) {
  return (word >>> by) | (word << (32 - by));
}

/** Fractional parts of the cube roots of the first 64 primes, of the square roots of the first 8. */
const CONSTANTS = constants();

/** @returns {{words: Uint32Array, start: Uint32Array}} */
function constants() {
  /** @type {number[]} */
  const primes = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every(prime => number % prime)) primes.push(number);
  }
  return {
    words: Uint32Array.from(primes, prime => fraction(BigInt(prime) << 96n, 3n)),
    start: Uint32Array.from(primes.slice(0, 8), prime => fraction(BigInt(prime) << 64n, 2n)),
  };
}

/**
 * @param {bigint} scaled a number times 2^(32 × power)
 * @param {bigint} power
 * @returns {number} the first 32 bits behind the point of its root
 */
function fraction(scaled, power) {
  let low = 0n;
  let high = 1n << 40n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** power <= scaled) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn);
}
