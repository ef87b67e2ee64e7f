/**
 * @typedef {{
 *   filter: string, smoothing: number, log: boolean, axis: 'step' | 'time', columns: 2 | 3,
 *   zoom: [number, number] | null, pins: string[] | null
 * }} State pins: null for the ones the build chose
 *
 * @typedef {{getItem: (key: string) => string | null, setItem: (key: string, value: string) => void, removeItem: (key: string) => void}} Store
 */

/** Smoothing above leaves no line to read. */
export const MAX_SMOOTHING = 0.99;

/**
 * The state that an address stands for.
 *
 * @param {{get: (name: string) => string | null}} url
 * @param {string | null} remembered pins of an earlier visit
 * @returns {State}
 */
export function readState(url, remembered) {
  const smoothing = Number(url.get('smooth') ?? 0);
  return {
    filter: url.get('filter') ?? '',
    smoothing: smoothing > 0 ? Math.min(MAX_SMOOTHING, smoothing) : 0,
    log: url.get('y') === 'log',
    axis: url.get('x') === 'time' ? 'time' : 'step',
    columns: url.get('columns') === '2' ? 2 : 3,
    zoom: readZoom(url.get('zoom')),
    pins: readPins(url.get('pins') ?? remembered),
  };
}

/**
 * @param {State} state
 * @returns {Record<string, string | null>} for the address; null for what is as usual
 */
export function writeState(state) {
  return {
    filter: state.filter || null,
    smooth: state.smoothing ? String(Number(state.smoothing.toFixed(2))) : null,
    y: state.log ? 'log' : null,
    x: state.axis === 'time' ? 'time' : null,
    columns: state.columns === 2 ? '2' : null,
    zoom: state.zoom ? state.zoom.map(value => Number(value.toPrecision(6))).join(':') : null,
    pins: state.pins ? writePins(state.pins) : null,
  };
}

/**
 * @param {string | null} text
 * @returns {[number, number] | null}
 */
function readZoom(text) {
  const [low, high, ...rest] = (text ?? '').split(':').map(part => (part === '' ? NaN : Number(part)));
  return Number.isFinite(low) && Number.isFinite(high) && low < high && !rest.length ? [low, high] : null;
}

/**
 * @param {string[]} pins
 * @returns {string} ids may hold any character
 */
export function writePins(pins) {
  return pins.map(encodeURIComponent).join(',');
}

/**
 * @param {string | null} text
 * @returns {string[] | null}
 */
function readPins(text) {
  if (text === null) return null;
  try {
    return text.split(',').filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
}

/**
 * @param {string[]} pins
 * @param {string} id
 * @returns {string[]} with the id added at the end, or removed
 */
export function toggled(pins, id) {
  return pins.includes(id) ? pins.filter(pin => pin !== id) : [...pins, id];
}
