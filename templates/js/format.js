/**
 * Numbers and times as pages show them; `miles_report/pages/format.py` holds the same functions,
 * and both are held to `tests/data/format_cases.json`. Halves round away from zero.
 *
 * @typedef {number | null | undefined} Maybe
 * @typedef {(value: Maybe) => string} Show
 */

export const DASH = '–';
export const THIN = '\u202f';
export const MINUS = '\u2212';
export const NOT_FINITE = 'not finite';

/** A whole number with thin groups: `10 240`. @type {Show} */
export function count(value) {
  return shown(value, size => grouped(size.toFixed(0)));
}

/** Three significant digits: `0.583`, `32 600`, `1.00e−6`; a whole number below 1,000 as it is. @type {Show} */
export function number(value) {
  return shown(value, significant);
}

/**
 * So many decimals, grouped: for ticks and columns that share a precision.
 *
 * @param {Maybe} value
 * @param {number} digits
 * @returns {string}
 */
export function fixed(value, digits) {
  return shown(value, size => grouped(size.toFixed(digits)));
}

/** A share as percent: `27.3 %`, `0 %`, `100 %`; never rounded to none or all. @type {Show} */
export function frac(value) {
  return shown(value, percent);
}

/** A change of a share in percentage points: `+25.2 pp`. @type {Show} */
export function points(value) {
  return signed(value, part => shown(part, size => `${(size * 100).toFixed(1)}${THIN}pp`));
}

/** Four decimals: `−0.2107`. @type {Show} */
export function logprob(value) {
  return shown(value, size => size.toFixed(4));
}

/** A duration: `12 ms`, `3.4 s`, `31 s`, `4 m 21 s`, `1 h 02 m`, `2 d 03 h`. @type {Show} */
export function seconds(value) {
  return shown(value, duration);
}

/** Time since the start of the run, whole seconds: `+1:02:03`. @type {Show} */
export function elapsed(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return absent(value);
  const whole = Math.floor(Math.abs(value));
  const clock = `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return (value < 0 ? MINUS : '+') + clock;
}

/** Unix seconds as `2026-02-03 23:14:05 UTC`. @type {Show} */
export function utc(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return absent(value);
  if (value < -62_135_596_800 || value >= 253_402_300_800) return `${number(value)}${THIN}s`;
  const iso = new Date(Math.floor(value) * 1000).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** Bytes of memory as `12.3 GiB`. @type {Show} */
export function gib(value) {
  return shown(value, amount => `${grouped((amount / 2 ** 30).toFixed(1))}${THIN}GiB`);
}

/** Bytes of a file: `812 B`, `5.81 MB`. @type {Show} */
export function size(value) {
  return shown(value, bytes);
}

/**
 * A change: `show` of it, with a plus where it is above zero.
 *
 * @param {Maybe} value
 * @param {Show} [show]
 * @returns {string}
 */
export function signed(value, show = number) {
  if (value === null || value === undefined || !Number.isFinite(value)) return show(value);
  const text = show(Math.abs(value));
  if (value === 0) return text;
  return (value > 0 ? '+' : MINUS) + text;
}

/**
 * A range with an en dash: `0.312 – 0.583`.
 *
 * @param {Maybe} low
 * @param {Maybe} high
 * @param {Show} [show]
 * @returns {string}
 */
export function span(low, high, show = number) {
  return `${show(low)} – ${show(high)}`;
}

/**
 * `1 step`, `20 steps`.
 *
 * @param {number} amount
 * @param {string} one
 * @param {string} [many]
 * @returns {string}
 */
export function plural(amount, one, many = `${one}s`) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

/**
 * Any cell of a table, in the form that the schema declares for its column.
 *
 * @param {any} content
 * @param {string} [form]
 * @returns {string}
 */
export function value(content, form = 'plain') {
  if (content === null || content === undefined) return DASH;
  if (typeof content === 'boolean') return content ? 'yes' : 'no';
  if (typeof content === 'string') return content;
  if (typeof content === 'number') return (FORMS[form] ?? number)(content);
  return Array.from(content, item => value(item, form)).join(', ');
}

/** @type {Show} */
function plain(content) {
  return Number.isInteger(content) ? shown(content, amount => amount.toFixed(0)) : number(content);
}

/** @type {Record<string, Show>} */
const FORMS = { plain: number, text: plain, id: plain, count, number, frac, logprob, seconds, ts: utc };

/**
 * @param {Maybe} value
 * @returns {string}
 */
function absent(value) {
  return value === null || value === undefined ? DASH : NOT_FINITE;
}

/**
 * @param {Maybe} value
 * @param {(size: number) => string} show
 * @returns {string} `show` of the size of a finite value, with its sign unless it shows as zero
 */
function shown(value, show) {
  if (value === null || value === undefined || !Number.isFinite(value)) return absent(value);
  const text = show(Math.abs(value));
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/**
 * @param {string} text
 * @returns {string}
 */
function grouped(text) {
  const [whole, rest] = text.split('.');
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, THIN);
  return rest === undefined ? groups : `${groups}.${rest}`;
}

/**
 * @param {number} amount
 * @returns {string}
 */
function significant(amount) {
  if (Number.isInteger(amount) && amount < 1000) return amount.toFixed(0);
  const [digits, power] = amount.toExponential(2).split('e');
  const exponent = Number(power);
  if (exponent < -4 || exponent > 8) return `${digits}e${exponent < 0 ? MINUS : ''}${Math.abs(exponent)}`;
  const near = Number(`${digits}e${power}`);
  return grouped(near.toFixed(Math.max(0, 2 - exponent)));
}

/**
 * @param {number} share
 * @returns {string}
 */
function percent(share) {
  const amount = share * 100;
  if (amount === 0 || amount === 100) return `${amount}${THIN}%`;
  if (amount < 0.1) return `<${THIN}0.1${THIN}%`;
  if (amount > 99.9 && amount < 100) return `>${THIN}99.9${THIN}%`;
  return `${grouped(amount.toFixed(1))}${THIN}%`;
}

/**
 * @param {number} amount
 * @returns {string}
 */
function duration(amount) {
  if (amount === 0) return `0${THIN}s`;
  if (amount < 0.9995) return milliseconds(amount * 1000);
  if (amount < 59.5) return `${amount.toFixed(amount < 9.95 ? 1 : 0)}${THIN}s`;
  const whole = Math.floor(amount + 0.5);
  if (whole < 3600) return `${Math.floor(whole / 60)}${THIN}m${THIN}${two(whole % 60)}${THIN}s`;
  const minutes = Math.floor(amount / 60 + 0.5);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}${THIN}h${THIN}${two(minutes % 60)}${THIN}m`;
  const hours = Math.floor(amount / 3600 + 0.5);
  return `${grouped(Math.floor(hours / 24).toFixed(0))}${THIN}d${THIN}${two(hours % 24)}${THIN}h`;
}

/**
 * @param {number} amount
 * @returns {string}
 */
function milliseconds(amount) {
  if (amount < 0.1) return `<${THIN}0.1${THIN}ms`;
  return `${amount.toFixed(amount < 9.95 ? 1 : 0)}${THIN}ms`;
}

/**
 * @param {number} amount
 * @returns {string}
 */
function bytes(amount) {
  if (amount < 999.5) return `${amount.toFixed(0)}${THIN}B`;
  for (const [power, unit] of /** @type {[number, string][]} */ ([[1, 'kB'], [2, 'MB'], [3, 'GB']])) {
    if (amount < 999.5 * 1000 ** power) return `${(amount / 1000 ** power).toPrecision(3)}${THIN}${unit}`;
  }
  return `${grouped((amount / 1000 ** 4).toFixed(1))}${THIN}TB`;
}

/**
 * @param {number} part
 * @returns {string}
 */
function two(part) {
  return String(part).padStart(2, '0');
}
