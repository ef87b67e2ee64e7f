/**
 * Spans of the trajectories table to one lifecycle a sample.
 */

/** @typedef {import('../types').Frame} Frame */

/**
 * @typedef {object} Span
 * @property {string} kind attempt, gen or tool
 * @property {number} from Unix seconds
 * @property {number} to Unix seconds; the last event of the batch where it never ended
 * @property {string | null} version weights that generated
 *
 * @typedef {object} Lifecycle
 * @property {number} index sample_index
 * @property {string | null} status
 * @property {number} start first event
 * @property {number} end last event
 * @property {Span[]} spans
 * @property {number} queued seconds of attempts outside generating and tools
 * @property {number} generating seconds
 * @property {number} tool seconds
 * @property {string[]} versions weight versions that generated, in order
 */

/**
 * @param {Frame} spans rows of the trajectories table of one step
 * @returns {Lifecycle[]} by start, then by index
 */
export function lifecycles(spans) {
  const { sample_index: index, kind, t0, t1, first_ts: first, last_ts: last, status, weight_version: version } = spans.columns;
  /** @type {Map<number, Lifecycle>} */
  const found = new Map();
  let newest = -Infinity;
  for (let row = 0; row < spans.length; row++) newest = Math.max(newest, last[row], t1[row] ?? -Infinity);
  for (let row = 0; row < spans.length; row++) {
    const known = found.get(index[row]);
    /** @type {Lifecycle} */
    const life = known ?? { index: index[row], status: status[row], start: first[row], end: last[row], spans: [], queued: 0, generating: 0, tool: 0, versions: [] };
    if (!known) found.set(index[row], life);
    const from = t0[row] ?? first[row];
    const to = t1[row] ?? newest;
    life.spans.push({ kind: kind[row], from, to, version: version[row] });
    life.end = Math.max(life.end, to);
    const length = Math.max(0, to - from);
    if (kind[row] === 'gen') life.generating += length;
    else if (kind[row] === 'tool') life.tool += length;
    else life.queued += length;
    if (version[row] !== null && !life.versions.includes(version[row])) life.versions.push(version[row]);
  }
  const lives = [...found.values()];
  for (const life of lives) life.queued = Math.max(0, life.queued - life.generating - life.tool);
  return lives.sort((a, b) => a.start - b.start || a.index - b.index);
}
