/** @typedef {import('../types').Scale} Scale */

/**
 * Make a canvas sharp on this screen.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width in CSS pixels
 * @param {number} height in CSS pixels
 * @returns {CanvasRenderingContext2D} cleared, in CSS pixels
 */
export function sharpCanvas(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/**
 * @param {Element} node
 * @param {string} name a token like "--c-blue"
 * @returns {string} its value where the node stands: canvases know no custom properties
 */
export function token(node, name) {
  return getComputedStyle(node).getPropertyValue(name).trim();
}

/**
 * Points as dots or hollow diamonds.
 *
 * @param {CanvasRenderingContext2D} pen
 * @param {ArrayLike<number | null>} xs
 * @param {ArrayLike<number | null>} ys
 * @param {Scale} x
 * @param {Scale} y
 * @param {{colour: string, rows: ArrayLike<number>, shape?: 'dot' | 'diamond', filled?: boolean, size?: number, alpha?: number}} look
 *   rows: which of them; size: radius
 */
export function drawPoints(pen, xs, ys, x, y, { colour, rows, shape = 'dot', filled = true, size = 3, alpha = 1 }) {
  pen.save();
  pen.globalAlpha = alpha;
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    if (xs[row] === null || ys[row] === null) continue;
    const px = x(/** @type {number} */ (xs[row]));
    const py = y(/** @type {number} */ (ys[row]));
    if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
    pen.beginPath();
    if (shape === 'dot') pen.arc(px, py, size, 0, Math.PI * 2);
    else diamond(pen, px, py, size * 1.3);
    if (filled) pen.fill();
    else pen.stroke();
  }
  pen.restore();
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function diamond(pen, x, y, size) {
  pen.moveTo(x, y - size);
  pen.lineTo(x + size, y);
  pen.lineTo(x, y + size);
  pen.lineTo(x - size, y);
  pen.closePath();
}

/**
 * The point nearest to a pixel.
 *
 * @param {ArrayLike<number | null>} xs
 * @param {ArrayLike<number | null>} ys
 * @param {Scale} x
 * @param {Scale} y
 * @param {[number, number]} pixel
 * @param {{rows: ArrayLike<number>, within?: number}} options within: pixels
 * @returns {number} its row, -1 if none is that near
 */
export function nearestPoint(xs, ys, x, y, [px, py], { rows, within = 16 }) {
  let best = -1;
  let least = within * within;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    if (xs[row] === null || ys[row] === null) continue;
    const distance = (x(/** @type {number} */ (xs[row])) - px) ** 2 + (y(/** @type {number} */ (ys[row])) - py) ** 2;
    if (distance <= least) {
      least = distance;
      best = row;
    }
  }
  return best;
}
