/**
 * Weight versions as steps of hue: the newest that is shown has the plain colour of generating, older ones are redder.
 */

/** Custom properties of the steps; what is older than the last has its colour too. */
export const GEN_TOKENS = ['--l-gen', '--l-gen-1', '--l-gen-2', '--l-gen-3'];

/**
 * @param {Iterable<string | null>} versions that are shown together, in any order; null and "" are none
 * @returns {Map<string, number>} step of each, from the newest: numbers by value, words by first appearance behind them
 */
export function versionSteps(versions) {
  const known = [...new Set(versions)].filter(version => version !== null && version !== '').map(String);
  const numbers = known.filter(version => /^\d+$/.test(version)).sort((a, b) => Number(b) - Number(a));
  const words = known.filter(version => !/^\d+$/.test(version));
  return new Map([...numbers, ...words].map((version, i) => [version, Math.min(i, GEN_TOKENS.length - 1)]));
}

/**
 * The steps as a legend names them: each with its versions.
 *
 * @param {Map<string, number>} steps
 * @returns {{step: number, versions: string[]}[]} from the newest; the last may be several versions
 */
export function stepLegend(steps) {
  return GEN_TOKENS.map((_, step) => ({ step, versions: [...steps].filter(([, own]) => own === step).map(([version]) => version) }))
    .filter(({ versions }) => versions.length);
}

/**
 * @param {string[]} versions of one step
 * @returns {string} "v12", "v9 and older"
 */
export function stepWords(versions) {
  const first = /^\d+$/.test(versions[0]) ? `v${versions[0]}` : versions[0];
  return versions.length > 1 ? `${first} and older` : first;
}
