/**
 * Wheel, drag, pinch and keys on a time axis.
 *
 * @typedef {import('./window.js').Span} Span
 *
 * @typedef {object} Gestures
 * @property {(at: number, factor: number) => boolean} onZoom at: share of the width; answers whether anything changed
 * @property {(by: number) => void} onPan by: share of the width
 * @property {(from: number, to: number) => void} onSelect shares of the width
 * @property {() => void} onReset
 * @property {(by: -1 | 1) => void} onStep
 * @property {(at: number, event: PointerEvent) => void} onPoint
 * @property {() => void} onLeave
 * @property {() => boolean} canPan false while the whole run is shown: a drag chooses a window then
 * @property {(from: number, to: number) => void} onMark a window being dragged; shares, both 0 for none
 */

import { on } from '../dom.js';

const CLICK_PX = 4;
const WHEEL_ZOOM = 1.0015;
const KEY_ZOOM = 0.5;
const KEY_PAN = 0.2;

/**
 * @param {HTMLElement} host takes events and focus
 * @param {() => DOMRect} frameOf the plot's rectangle in the window
 * @param {Gestures} gestures
 * @returns {() => void} the way to stop
 */
export function mountGestures(host, frameOf, gestures) {
  /** @type {Map<number, number>} */
  const pointers = new Map();
  /** @type {{from: number, at: number, selects: boolean, moved: boolean} | null} */
  let drag = null;

  const share = (/** @type {number} */ clientX) => {
    const { left, width } = frameOf();
    return (clientX - left) / (width || 1);
  };
  const inside = (/** @type {number} */ at) => at >= 0 && at <= 1;
  const clamp = (/** @type {number} */ at) => Math.min(1, Math.max(0, at));

  const offs = [
    on(host, 'wheel', event => {
      const at = share(event.clientX);
      if (!inside(at) || event.shiftKey) return;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const lines = event.deltaMode === 1 ? 16 : 1;
      if (sideways) {
        if (!gestures.canPan()) return;
        event.preventDefault();
        gestures.onPan(event.deltaX * lines / (frameOf().width || 1));
      } else if (gestures.onZoom(at, WHEEL_ZOOM ** (event.deltaY * lines))) {
        event.preventDefault();
      }
    }, { passive: false }),
    on(host, 'pointerdown', event => {
      const at = share(event.clientX);
      if (event.button !== 0 || !inside(at)) return;
      pointers.set(event.pointerId, at);
      host.setPointerCapture(event.pointerId);
      drag = pointers.size === 1 ? { from: at, at, selects: event.shiftKey || !gestures.canPan(), moved: false } : null;
      if (!drag) gestures.onMark(0, 0);
    }),
    on(host, 'pointermove', event => {
      const at = share(event.clientX);
      if (pointers.size === 2 && pointers.has(event.pointerId)) {
        pinch(event.pointerId, at);
      } else if (drag) {
        follow(at);
      } else if (inside(at)) {
        gestures.onPoint(at, event);
      } else {
        gestures.onLeave();
      }
    }),
    on(host, 'pointerup', event => end(event, true)),
    on(host, 'pointercancel', event => end(event, false)),
    on(host, 'pointerleave', () => gestures.onLeave()),
    on(host, 'dblclick', event => { if (inside(share(event.clientX))) gestures.onReset(); }),
    on(host, 'keydown', event => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== host) return;
      const action = keys[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    }),
  ];
  /** @type {Record<string, () => void>} */
  const keys = {
    '+': () => gestures.onZoom(0.5, KEY_ZOOM),
    '=': () => gestures.onZoom(0.5, KEY_ZOOM),
    '-': () => gestures.onZoom(0.5, 1 / KEY_ZOOM),
    ArrowLeft: () => gestures.onPan(-KEY_PAN),
    ArrowRight: () => gestures.onPan(KEY_PAN),
    0: () => gestures.onReset(),
    '[': () => gestures.onStep(-1),
    ']': () => gestures.onStep(1),
  };

  /**
   * @param {number} id
   * @param {number} at
   */
  function pinch(id, at) {
    const other = [...pointers].find(([key]) => key !== id)?.[1] ?? 0;
    const before = Math.abs((pointers.get(id) ?? 0) - other);
    const after = Math.abs(at - other);
    pointers.set(id, at);
    if (before > 0.01 && after > 0.01) gestures.onZoom((at + other) / 2, before / after);
  }

  /** @param {number} at */
  function follow(at) {
    if (!drag) return;
    drag.moved ||= Math.abs(at - drag.from) * frameOf().width >= CLICK_PX;
    if (!drag.moved) return;
    gestures.onLeave();
    if (drag.selects) gestures.onMark(clamp(Math.min(drag.from, at)), clamp(Math.max(drag.from, at)));
    else gestures.onPan(drag.at - at);
    drag.at = at;
  }

  /**
   * @param {PointerEvent} event
   * @param {boolean} whole
   */
  function end(event, whole) {
    pointers.delete(event.pointerId);
    if (!drag) return;
    const { from, at, selects, moved } = drag;
    drag = null;
    gestures.onMark(0, 0);
    if (whole && selects && moved) gestures.onSelect(clamp(Math.min(from, at)), clamp(Math.max(from, at)));
  }

  return () => offs.forEach(off => off());
}
