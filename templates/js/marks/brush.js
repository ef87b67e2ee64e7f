import { on, svg } from '../dom.js';

/**
 * @typedef {{x0: number, x1: number, y0: number, y1: number}} Box pixels, x0 <= x1 and y0 <= y1
 */

/**
 * A rectangle that is dragged over a plot: in both directions, or along x over the full height.
 * A drag shorter than 4 pixels is a click; a double click clears.
 *
 * @param {SVGSVGElement} host drawn in CSS pixels; holds the brush as its last child
 * @param {Box} area of the plot
 * @param {{along?: 'x' | 'xy', onMove?: (box: Box) => void, onEnd?: (box: Box) => void, onClear?: () => void, onClick?: (at: {x: number, y: number}) => void}} options
 * @returns {{show: (box: Box | null) => void, dispose: () => void}}
 */
export function createBrush(host, area, { along = 'xy', onMove, onEnd, onClear, onClick }) {
  const box = svg('rect', { class: 'brush', visibility: 'hidden', 'pointer-events': 'none' });
  const catcher = svg('rect', {
    x: area.x0, y: area.y0, width: area.x1 - area.x0, height: area.y1 - area.y0, fill: 'transparent', style: { cursor: 'crosshair', 'touch-action': along === 'x' ? 'pan-y' : 'none' },
  });
  host.append(catcher, box);
  /** @type {{x: number, y: number} | null} */
  let start = null;

  const at = (/** @type {PointerEvent} */ event) => {
    const frame = host.getBoundingClientRect();
    return { x: clamp(event.clientX - frame.left, area.x0, area.x1), y: clamp(event.clientY - frame.top, area.y0, area.y1) };
  };
  const boxTo = (/** @type {{x: number, y: number}} */ end) => boxOf(/** @type {{x: number, y: number}} */ (start), end, area, along);
  const show = (/** @type {Box | null} */ shown) => {
    box.setAttribute('visibility', shown ? 'visible' : 'hidden');
    if (!shown) return;
    box.setAttribute('x', String(shown.x0));
    box.setAttribute('y', String(shown.y0));
    box.setAttribute('width', String(shown.x1 - shown.x0));
    box.setAttribute('height', String(shown.y1 - shown.y0));
  };
  const offs = [
    on(catcher, 'pointerdown', event => {
      if (event.button !== 0) return;
      start = at(event);
      catcher.setPointerCapture(event.pointerId);
    }),
    on(catcher, 'pointermove', event => {
      if (!start) return;
      const now = boxTo(at(event));
      if (isClick(now, along)) return;
      show(now);
      onMove?.(now);
    }),
    on(catcher, 'pointerup', event => {
      if (!start) return;
      const end = at(event);
      const now = boxTo(end);
      start = null;
      if (isClick(now, along)) onClick?.(end);
      else onEnd?.(now);
    }),
    on(catcher, 'pointercancel', () => {
      start = null;
    }),
    on(catcher, 'dblclick', () => {
      show(null);
      onClear?.();
    }),
  ];
  return {
    show,
    dispose() {
      offs.forEach(off => off());
      catcher.remove();
      box.remove();
    },
  };
}

/**
 * @param {{x: number, y: number}} a
 * @param {{x: number, y: number}} b
 * @param {Box} area
 * @param {'x' | 'xy'} along
 * @returns {Box} between two corners
 */
export function boxOf(a, b, area, along) {
  const box = { x0: Math.min(a.x, b.x), x1: Math.max(a.x, b.x), y0: Math.min(a.y, b.y), y1: Math.max(a.y, b.y) };
  return along === 'x' ? { ...box, y0: area.y0, y1: area.y1 } : box;
}

/**
 * @param {Box} box
 * @param {'x' | 'xy'} along
 * @returns {boolean}
 */
function isClick(box, along) {
  return box.x1 - box.x0 < 4 && (along === 'x' || box.y1 - box.y0 < 4);
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 * @returns {number}
 */
function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
