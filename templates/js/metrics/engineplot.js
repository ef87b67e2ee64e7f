/**
 * One engine metric as a chart: a line an engine, in steps, broken where no reading is near.
 *
 * @typedef {import('./engines.js').Line} Line
 * @typedef {import('../compute/window.js').Span} Span
 * @typedef {{line: Line, value: number | null}} Told
 * @typedef {{onZoom: (span: Span) => void, onClear: () => void, onPoint: (time: number, values: Told[], event: PointerEvent) => void, onLeave: () => void}} Listeners
 */

import { clockTicks, tickText } from '../compute/clock.js';
import { envelope, readingAt } from '../compute/samples.js';
import { svg } from '../dom.js';
import { value as written } from '../format.js';
import { xAxis, yAxis } from '../marks/axis.js';
import { createBrush } from '../marks/brush.js';
import { line as lineMark } from '../marks/line.js';
import { extent, linearScale, niceDomain, tickFormat } from '../marks/scale.js';

const BASE = 20;
const TOP = 6;
const RIGHT = 8;

/**
 * @param {Line[]} lines
 * @param {{span: Span, zero: number, width: number, height: number, colourOf: (line: Line) => number}} options
 * @returns {{node: SVGSVGElement, newest: string, mount: (listeners: Listeners) => void}} newest: the last value where there is one line
 */
export function drawEngines(lines, { span, zero, width, height, colourOf }) {
  const pixels = Math.max(16, width - 60);
  const drawn = lines.map(one => envelope(one.series, 'value', span, pixels));
  const range = extent(...drawn.map(columns => Array.from(columns.mean, value => (Number.isNaN(value) ? null : value)))) ?? [0, 1];
  const domain = niceDomain([Math.min(0, range[0]), range[1]], 3);
  const y0 = TOP;
  const y1 = height - BASE;
  const y = linearScale(domain, [y1, y0]);
  const ticks = y.ticks(3);
  const write = tickFormat(ticks, 'linear');
  const left = Math.max(34, 10 + 6.6 * Math.max(0, ...ticks.map(tick => write(tick).length)));
  const x = linearScale(span, [left, width - RIGHT]);
  const times = clockTicks(span, zero, 4);
  const node = svg('svg', { class: 'marks metric-plot', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    yAxis(y, [left, width - RIGHT], { ticks, format: write }),
    xAxis(x, y1, { ticks: times.map(({ time }) => time), format: time => tickText(time, zero, times[0]?.step ?? 1) }));
  const xs = Array.from({ length: pixels }, (_, i) => span[0] + (i + 0.5) / pixels * (span[1] - span[0]));
  lines.forEach((one, i) => {
    const ys = Array.from(drawn[i].mean, value => (Number.isNaN(value) ? null : value));
    const mark = lineMark(xs, ys, x, y, { class: `engine-line e${colourOf(one)}` });
    if (one.rank !== null) mark.setAttribute('stroke-dasharray', ['none', '6 2', '2 2', '8 2 2 2'][Number(one.rank) % 4] ?? 'none');
    node.append(mark);
  });
  const cursor = svg('line', { class: 'metric-cursor', y1: y0, y2: y1, visibility: 'hidden' });
  node.append(cursor);
  const last = lines.length === 1 ? lastOf(lines[0], span[1]) : null;
  return {
    node,
    newest: last === null ? '' : written(last, 'number'),
    mount({ onZoom, onClear, onPoint, onLeave }) {
      createBrush(node, { x0: left, x1: width - RIGHT, y0, y1 }, {
        along: 'x', onEnd: box => onZoom([x.invert(box.x0), x.invert(box.x1)]), onClear,
      });
      node.onpointermove = event => {
        const at = event.clientX - node.getBoundingClientRect().left;
        if (at < left || at > width - RIGHT) return;
        cursor.setAttribute('visibility', 'visible');
        cursor.setAttribute('x1', String(at));
        cursor.setAttribute('x2', String(at));
        const time = x.invert(at);
        onPoint(time, lines.map(one => ({ line: one, value: lastOf(one, time) })), event);
      };
      node.onpointerleave = () => {
        cursor.setAttribute('visibility', 'hidden');
        onLeave();
      };
    },
  };
}

/**
 * @param {Line} line
 * @param {number} time
 * @returns {number | null} the reading that counts then
 */
function lastOf({ series }, time) {
  const at = readingAt(series, time);
  return at < 0 ? null : series.values.value.mean[at];
}
