import { svg } from '../dom.js';

/** @typedef {import('../types').Scale} Scale */

/**
 * The path of a line; it breaks where a value is null or not finite, or where the scale has none.
 *
 * @param {ArrayLike<number | null>} xs
 * @param {ArrayLike<number | null>} ys
 * @param {Scale} x
 * @param {Scale} y
 * @returns {string} a lone point becomes a dot of zero length, drawn by round caps
 */
export function linePath(xs, ys, x, y) {
  let path = '';
  let drawing = false;
  for (let i = 0; i < xs.length; i++) {
    const px = xs[i] === null ? NaN : x(/** @type {number} */ (xs[i]));
    const py = ys[i] === null ? NaN : y(/** @type {number} */ (ys[i]));
    if (!Number.isFinite(px) || !Number.isFinite(py)) {
      if (drawing && path.lastIndexOf('L') < path.lastIndexOf('M')) path += 'h0';
      drawing = false;
      continue;
    }
    path += `${drawing ? 'L' : 'M'}${round(px)},${round(py)}`;
    drawing = true;
  }
  return drawing && path.lastIndexOf('L') < path.lastIndexOf('M') ? `${path}h0` : path;
}

/**
 * @param {ArrayLike<number | null>} xs
 * @param {ArrayLike<number | null>} ys
 * @param {Scale} x
 * @param {Scale} y
 * @param {{class?: string, colour?: string}} [options] class: "raw" (thin, pale) or "smooth" (bold)
 * @returns {SVGElement} points without neighbours are thick enough to be seen
 */
export function line(xs, ys, x, y, { class: name = '', colour } = {}) {
  const d = linePath(xs, ys, x, y);
  const style = colour ? { stroke: colour } : null;
  const whole = svg('path', { class: `line ${name}`.trim(), d, style });
  const lone = lonePath(d);
  return lone ? svg('g', null, whole, svg('path', { class: `line ${name} lone`, d: lone, style })) : whole;
}

/**
 * The part of a path of `linePath` that is points without neighbours.
 *
 * @param {string} path
 * @returns {string}
 */
export function lonePath(path) {
  return (path.match(/M[^ML]*h0/g) ?? []).join('');
}

/**
 * Exponential smoothing for the eye only, without the pull to zero at the start.
 *
 * @param {ArrayLike<number | null>} values absent ones stay absent and change nothing
 * @param {number} weight 0 (none) to below 1
 * @returns {(number | null)[]}
 */
export function smooth(values, weight) {
  let sum = 0;
  let mass = 0;
  return Array.from(values, value => {
    if (value === null || !Number.isFinite(value)) return null;
    sum = weight * sum + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return sum / mass;
  });
}

/**
 * @param {number} pixel
 * @returns {number}
 */
function round(pixel) {
  return Math.round(pixel * 100) / 100;
}
