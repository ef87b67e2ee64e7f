/**
 * The panel "n selected, beside all": how a selection differs from all samples.
 *
 * The one place where the browser averages: unweighted means over the samples it shows, nulls left out and counted.
 */

/** @typedef {import('../types').Frame} Frame */

/**
 * @typedef {object} Difference
 * @property {string} name
 * @property {number | null} selected mean over the selected rows that have a value; NaN if one is not finite
 * @property {number | null} all the same over all rows
 * @property {number | null} sds (selected − all) over the sample standard deviation of all; null where that is 0 or undefined
 * @property {number} nSelected rows behind `selected`
 * @property {number} nAll rows behind `all`
 */

/**
 * @param {Frame} frame
 * @param {string[]} names numeric or boolean columns
 * @param {number[]} rows the selected rows
 * @returns {Difference[]} largest difference first; columns without any value are left out
 */
export function compareSelection(frame, names, rows) {
  const every = Array.from({ length: frame.length }, (_, row) => row);
  const differences = names.flatMap((name) => {
    const cells = frame.columns[name];
    if (!cells) return [];
    const all = summary(cells, every);
    if (all.count === 0) return [];
    const selected = summary(cells, rows);
    const sds = selected.mean === null || all.mean === null || !all.sd ? null : (selected.mean - all.mean) / all.sd;
    return [{
      name,
      selected: selected.mean,
      all: all.mean,
      sds: sds !== null && Number.isFinite(sds) ? sds : null,
      nSelected: selected.count,
      nAll: all.count,
    }];
  });
  return differences.sort((a, b) => distance(b) - distance(a));
}

/** @param {Difference} one @returns {number} without a distance: last */
function distance(one) {
  return one.sds === null ? -1 : Math.abs(one.sds);
}

/**
 * Mean and sample standard deviation (ddof 1) over the rows that have a value.
 *
 * @param {ArrayLike<any>} cells
 * @param {number[]} rows
 * @returns {{ count: number, mean: number | null, sd: number | null }}
 */
export function summary(cells, rows) {
  let count = 0;
  let mean = 0;
  let squares = 0;
  for (const row of rows) {
    const cell = cells[row];
    if (cell === null || cell === undefined) continue;
    const value = Number(cell);
    count += 1;
    const delta = value - mean;
    mean += delta / count;
    squares += delta * (value - mean);
  }
  if (count === 0) return { count, mean: null, sd: null };
  if (!Number.isFinite(mean)) return { count, mean: NaN, sd: null };
  return { count, mean, sd: count > 1 ? Math.sqrt(squares / (count - 1)) : null };
}
