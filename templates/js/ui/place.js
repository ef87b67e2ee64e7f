/**
 * @typedef {{left: number, top: number, right: number, bottom: number}} Rect
 * @typedef {{width: number, height: number}} Size
 */

/**
 * Where a box goes beside an anchor: below it, above it if there is more room, inside the window,
 * and never over the anchor.
 *
 * @param {Rect} anchor
 * @param {Size} box
 * @param {Size} frame the window
 * @param {{align?: 'start' | 'end', gap?: number}} [options]
 * @returns {{left: number, top: number, height: number}} height: at most so high
 */
export function place(anchor, box, frame, { align = 'start', gap = 4 } = {}) {
  const edge = 8;
  const below = frame.height - anchor.bottom - gap - edge;
  const above = anchor.top - gap - edge;
  const under = box.height <= below || below >= above;
  const height = Math.max(64, under ? below : above);
  const used = Math.min(box.height, height);
  const wanted = align === 'end' ? anchor.right - box.width : anchor.left;
  return {
    left: Math.max(edge, Math.min(wanted, frame.width - box.width - edge)),
    top: under ? anchor.bottom + gap : anchor.top - gap - used,
    height,
  };
}
