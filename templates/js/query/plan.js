/**
 * Which files a query has to read: decided from the catalogues, before anything is fetched.
 */

import { canMeet } from './conditions.js';

/** @typedef {import('../types').Catalog} Catalog */
/** @typedef {import('../types').Slice} Slice */
/** @typedef {import('../types').StepEntry} StepEntry */
/** @typedef {import('./conditions.js').Condition} Condition */
/** @typedef {import('./scopes.js').Analysis} Analysis */
/** @typedef {import('./scopes.js').Reading} Reading */
/** @typedef {import('./tables.js').Table} Table */

/**
 * @typedef {object} Part one file of a table
 * @property {Slice} slice
 * @property {number | null} step null for a table of the whole run
 * @property {boolean} evaluation
 *
 * @typedef {object} TablePlan
 * @property {Table} table
 * @property {Part[]} parts in order
 * @property {string[]} stored columns to take from the files; none where rows are only counted
 * @property {string[]} shown columns that the query sees
 * @property {boolean} pruned whether some columns are left out
 *
 * @typedef {object} Plan
 * @property {TablePlan[]} tables
 * @property {number} bytes of all files, each counted once
 * @property {number} files
 * @property {string[]} absent steps that have no data, in words
 */

/**
 * @param {Analysis[]} analyses of the statements
 * @param {ReadonlyMap<string, Table>} tables
 * @param {Catalog} root
 * @param {{onCatalog?: (done: number, all: number) => void, signal?: AbortSignal}} [options] onCatalog: told of every catalogue of a step
 * @returns {Promise<Plan>} rejects as catalogues do
 */
export async function planOf(analyses, tables, root, { onCatalog, signal } = {}) {
  const readings = analyses.flatMap(one => one.readings);
  const perStep = readings.filter(reading => tables.get(reading.table)?.perStep);
  const wanted = root.steps.filter(entry => perStep.some(reading => stepMeets(reading.conditions, entry)));
  const catalogs = await openSteps(root, wanted.filter(entry => entry.catalog), onCatalog, signal);
  const names = analyses.some(one => one.names === null) ? null : new Set(analyses.flatMap(one => [...(one.names ?? [])]));
  const plans = [...new Set(readings.map(reading => reading.table))].map(name => {
    const table = /** @type {Table} */ (tables.get(name));
    const mine = readings.filter(reading => reading.table === name);
    return tablePlan(table, partsOf(table, mine, root, catalogs), names);
  });
  for (const [name, steps] of lookups(plans)) {
    const table = /** @type {Table} */ (tables.get(name));
    const parts = catalogs.filter(({ entry }) => steps.has(stepName(entry))).flatMap(one => partsIn(one, table));
    const known = plans.find(plan => plan.table.name === name);
    const needed = new Map([...(known?.parts ?? []), ...parts].map(part => [part.slice.path, part]));
    if (known) plans.splice(plans.indexOf(known), 1);
    plans.push(tablePlan(table, [...needed.values()], null));
  }
  const paths = new Map(plans.flatMap(plan => plan.parts.map(part => [part.slice.path, part.slice.bytes])));
  return {
    tables: plans,
    bytes: [...paths.values()].reduce((sum, bytes) => sum + bytes, 0),
    files: paths.size,
    absent: wanted.filter(entry => !entry.catalog).map(entry => `${entry.evaluation ? 'evaluation' : 'step'} ${entry.step}`),
  };
}

/**
 * @param {TablePlan[]} plans
 * @returns {Map<string, Set<string>>} tables that shown columns are looked up in, and for which steps
 */
function lookups(plans) {
  /** @type {Map<string, Set<string>>} */
  const found = new Map();
  for (const { table, shown, parts } of plans) {
    for (const { name, derived } of table.columns) {
      if (!derived?.table || !shown.includes(name)) continue;
      const steps = found.get(derived.table) ?? new Set();
      parts.forEach(part => steps.add(stepName(part)));
      found.set(derived.table, steps);
    }
  }
  return found;
}

/** @param {{step: number | null, evaluation: boolean}} entry @returns {string} */
function stepName({ step, evaluation }) {
  return `${evaluation ? 'eval' : 'step'}-${step}`;
}

/**
 * @param {Condition[]} conditions
 * @param {{step: number, evaluation: boolean}} entry
 * @returns {boolean} whether its rows can meet them
 */
function stepMeets(conditions, { step, evaluation }) {
  return conditions.every(condition => {
    if (condition.column === 'step') return canMeet(condition, [step, step]);
    return condition.column !== 'evaluation' || canMeet(condition, [Number(evaluation), Number(evaluation)]);
  });
}

/**
 * @param {Catalog} root
 * @param {StepEntry[]} entries
 * @param {((done: number, all: number) => void) | undefined} onCatalog
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<{entry: StepEntry, catalog: Catalog}[]>}
 */
async function openSteps(root, entries, onCatalog, signal) {
  let done = 0;
  /** @type {{entry: StepEntry, catalog: Catalog}[]} */
  const found = new Array(entries.length);
  let next = 0;
  const work = async () => {
    while (next < entries.length) {
      signal?.throwIfAborted();
      const at = next;
      next += 1;
      found[at] = { entry: entries[at], catalog: await root.step(entries[at].step, entries[at].evaluation) };
      done += 1;
      onCatalog?.(done, entries.length);
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  return found;
}

/**
 * @param {Table} table
 * @param {Reading[]} readings of it
 * @param {Catalog} root
 * @param {{entry: StepEntry, catalog: Catalog}[]} catalogs
 * @returns {Part[]}
 */
function partsOf(table, readings, root, catalogs) {
  /** @type {Part[]} */
  const all = table.perStep
    ? catalogs.flatMap(one => partsIn(one, table))
    : root.slices(table.name).map(slice => ({ slice, step: null, evaluation: false }));
  const needed = new Set(readings.flatMap(reading => enough(all.filter(part => meets(reading.conditions, part)), reading.limit)));
  return all.filter(part => needed.has(part));
}

/**
 * @param {{entry: StepEntry, catalog: Catalog}} step
 * @param {Table} table
 * @returns {Part[]}
 */
function partsIn({ entry, catalog }, table) {
  return catalog.slices(table.name).map(slice => ({ slice, step: entry.step, evaluation: entry.evaluation }));
}

/**
 * @param {Condition[]} conditions
 * @param {Part} part
 * @returns {boolean}
 */
function meets(conditions, { slice, step, evaluation }) {
  if (step !== null && !stepMeets(conditions, { step, evaluation })) return false;
  return conditions.every(condition => {
    const range = slice.keys[condition.column];
    return !range || condition.column === 'evaluation' || canMeet(condition, range);
  });
}

/**
 * @param {Part[]} parts
 * @param {number | null} limit rows
 * @returns {Part[]} the first ones that have so many
 */
function enough(parts, limit) {
  if (limit === null) return parts;
  let rows = 0;
  return parts.filter(part => {
    const before = rows;
    rows += part.slice.rows;
    return before < limit;
  });
}

/**
 * @param {Table} table
 * @param {Part[]} parts
 * @param {Set<string> | null} names that may be columns; null: all
 * @returns {TablePlan}
 */
function tablePlan(table, parts, names) {
  const inFiles = new Set(parts.flatMap(part => part.slice.columns));
  const own = [...inFiles].filter(name => !table.columns.some(column => column.name === name));
  const every = [...table.columns.map(column => column.name), ...own];
  const shown = names ? every.filter(name => names.has(name.toLowerCase())) : every;
  const derived = new Map(table.columns.map(column => [column.name, column.derived]));
  const stored = [...new Set(shown.flatMap(name => derived.get(name)?.needs ?? [name]))];
  return { table, parts, stored, shown, pruned: shown.length < every.length };
}

/**
 * What a plan reads, for a line under the editor.
 *
 * @param {Plan} plan
 * @returns {string} "tokens of step 12, samples of 20 steps"
 */
export function planWords(plan) {
  return plan.tables.filter(one => one.parts.length).map(({ table, parts }) => {
    if (!table.perStep) return table.name;
    const steps = [...new Set(parts.filter(part => !part.evaluation).map(part => part.step))];
    const evals = [...new Set(parts.filter(part => part.evaluation).map(part => part.step))];
    const words = [some('step', steps), some('evaluation', evals)].filter(Boolean);
    return `${table.name} of ${words.join(' and ')}`;
  }).join(', ');
}

/**
 * @param {string} noun
 * @param {(number | null)[]} numbers
 * @returns {string}
 */
function some(noun, numbers) {
  if (numbers.length === 0) return '';
  return numbers.length === 1 ? `${noun} ${numbers[0]}` : `${numbers.length} ${noun}s`;
}
