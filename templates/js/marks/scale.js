import { MINUS, elapsed, fixed, number } from '../format.js';

/** @typedef {import('../types').Scale} Scale */

/**
 * @param {[number, number]} domain
 * @param {[number, number]} range pixels
 * @returns {Scale} a domain of one value maps to the middle
 */
export function linearScale(domain, range) {
  return scale('linear', domain, range, value => value, value => value, count => ticks(domain, count));
}

/**
 * @param {[number, number]} domain both above zero; what is not maps to NaN
 * @param {[number, number]} range pixels
 * @returns {Scale}
 */
export function logScale(domain, range) {
  return scale('log', domain, range, Math.log, Math.exp, count => logTicks(domain, count));
}

/**
 * A linear scale of seconds with ticks of whole seconds, minutes, hours or days.
 *
 * @param {[number, number]} domain
 * @param {[number, number]} range pixels
 * @returns {Scale}
 */
export function timeScale(domain, range) {
  return scale('time', domain, range, value => value, value => value, count => timeTicks(domain, count));
}

/**
 * @param {Scale['kind']} kind
 * @param {[number, number]} domain
 * @param {[number, number]} range
 * @param {(value: number) => number} bend
 * @param {(value: number) => number} unbend
 * @param {(count: number) => number[]} ticksOf
 * @returns {Scale}
 */
function scale(kind, domain, range, bend, unbend, ticksOf) {
  const [from, to] = domain.map(bend);
  const size = to - from;
  const map = (/** @type {number} */ value) => {
    const part = size === 0 ? 0.5 : (bend(value) - from) / size;
    return range[0] + part * (range[1] - range[0]);
  };
  const invert = (/** @type {number} */ pixel) => {
    const part = range[1] === range[0] ? 0 : (pixel - range[0]) / (range[1] - range[0]);
    return unbend(from + part * size);
  };
  return Object.assign(map, { kind, domain, range, invert, ticks: (count = 5) => ticksOf(count) });
}

/**
 * The least and greatest finite value.
 *
 * @param {...ArrayLike<number | null>} arrays
 * @returns {[number, number] | null} null if there is none
 */
export function extent(...arrays) {
  let low = Infinity;
  let high = -Infinity;
  for (const array of arrays) {
    for (let i = 0; i < array.length; i++) {
      const value = array[i];
      if (value === null || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

/**
 * The step between round ticks: 1, 2 or 5 times a power of ten.
 *
 * @param {number} size of the domain, above zero
 * @param {number} count about so many ticks
 * @returns {number}
 */
export function tickStep(size, count) {
  const rough = size / Math.max(1, count - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const part = rough / power;
  return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

/**
 * Round ticks inside a domain.
 *
 * @param {[number, number]} domain
 * @param {number} [count] about so many: the answer has three to seven for five
 * @returns {number[]}
 */
export function ticks([low, high], count = 5) {
  if (!(high > low)) return Number.isFinite(low) ? [low] : [];
  return multiples(low, high, tickStep(high - low, count));
}

/**
 * The domain grown to whole tick steps, so that the first and last tick are its ends.
 *
 * @param {[number, number]} domain
 * @param {number} [count]
 * @returns {[number, number]}
 */
export function niceDomain([low, high], count = 5) {
  if (low === high) {
    const room = low === 0 ? 1 : Math.abs(low) * 0.5;
    return niceDomain([low - room, high + room], count);
  }
  const step = tickStep(high - low, count);
  return [clean(Math.floor(low / step + 1e-9) * step), clean(Math.ceil(high / step - 1e-9) * step)];
}

/**
 * @param {number} low
 * @param {number} high
 * @param {number} step
 * @returns {number[]} whole multiples of a step from low to high
 */
function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => clean((first + i) * step));
}

/**
 * @param {[number, number]} domain
 * @param {number} count
 * @returns {number[]} powers of ten, with 2 and 5 between them where there is room
 */
function logTicks([low, high], count) {
  if (!(low > 0) || !(high >= low)) return [];
  const decades = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) decades.push(power);
  const every = Math.max(1, Math.ceil(decades.length / count));
  const dense = decades.length <= count / 2 + 1 ? [1, 2, 5] : [1];
  const all = decades.filter(power => power % every === 0).flatMap(power => dense.map(part => clean(part * 10 ** power)));
  return all.filter(value => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/**
 * Whole seconds at least, as the labels are.
 *
 * @param {[number, number]} domain seconds
 * @param {number} count
 * @returns {number[]}
 */
function timeTicks([low, high], count) {
  const rough = (high - low) / Math.max(1, count - 1);
  const step = TIME_STEPS.find(candidate => candidate >= rough * 0.75);
  return multiples(low, high, step ?? tickStep((high - low) / 86_400, count) * 86_400);
}

/**
 * How ticks are written: all with the decimals of their step, thousands as k where all are whole ones.
 *
 * @param {number[]} values of an axis
 * @param {Scale['kind']} [kind]
 * @returns {(value: number) => string}
 */
export function tickFormat(values, kind = 'linear') {
  if (kind === 'time') return elapsed;
  if (kind === 'log') return value => (value >= 1e-4 && value < 1e6 ? plain(value) : power(value));
  const largest = Math.max(...values.map(Math.abs), 0);
  const step = values.length > 1 ? Math.min(...values.slice(1).map((value, i) => Math.abs(value - values[i]))) : largest;
  if (largest >= 1e9 || (largest > 0 && largest < 1e-3)) return power;
  if (largest >= 1e4 && values.every(value => value % 1000 === 0)) {
    return value => (value === 0 ? '0' : `${fixed(value / 1000, 0)}k`);
  }
  const digits = step > 0 ? Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))) : 0;
  const exact = [0, 1, 2, 3, 4, 5, 6].find(n => n >= digits && values.every(value => Math.abs(value - Number(value.toFixed(n))) < step * 1e-6));
  return value => fixed(value, exact ?? digits);
}

/**
 * @param {number} value
 * @returns {string}
 */
function plain(value) {
  return value >= 1 ? number(value) : String(clean(value));
}

/**
 * @param {number} value
 * @returns {string} `1e−6`, `2.5e9`
 */
function power(value) {
  if (value === 0) return '0';
  return String(value.toExponential(2)).replace(/\.?0+e/, 'e').replace('e+', 'e').replace(/-/g, MINUS);
}

/**
 * @param {number} value
 * @returns {number} without the dust of binary fractions, never −0
 */
function clean(value) {
  return Number(value.toPrecision(12)) + 0;
}

/**
 * Where a value stands in ascending numbers.
 *
 * @param {ArrayLike<number>} sorted ascending
 * @param {number} value
 * @returns {number} index of the nearest, -1 if there are none
 */
export function nearestIndex(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return sorted.length ? 0 : -1;
  if (low === sorted.length) return low - 1;
  return value - sorted[low - 1] <= sorted[low] - value ? low - 1 : low;
}
