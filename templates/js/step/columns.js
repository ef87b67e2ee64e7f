/**
 * What the columns of the samples table are, for headers, cells, filter and chooser.
 */

import { THIN, signed, value } from '../format.js';
import { SAMPLE_GROUPS, TABLES } from '../schema.js';

/** @typedef {import('../types').Frame} Frame */

/**
 * @typedef {object} StepColumn
 * @property {string} name
 * @property {import('./types.js').ColumnType} type
 * @property {string} label
 * @property {string} unit
 * @property {string} form how a value is shown
 * @property {string} group of the chooser; one of `SAMPLE_GROUPS`
 * @property {string} doc
 * @property {string} nullReason
 * @property {boolean} recorded whether the step has a value of it
 */

const REWARD_PREFIX = 'reward.';

/** The columns that Miles's own dashboard shows. */
export const SEED_SET = ['sample_index', 'group_index', 'status', 'response_length', 'total_length', 'truncated', 'remove_sample',
  'reward', 'raw_reward', 'normalized_reward', 'adv_mean', 'adv_std', 'return_mean', 'mean_abs_lp_diff', 'max_abs_lp_diff',
  'mean_imp_ratio', 'mean_entropy', 'max_entropy', 'ref_entropy_mean', 'weight_version', 'weight_version_min', 'mixed_version',
  'turns', 'prefix_cache_hit_rate', 'spec_accept_rate', 'non_generation_time', 'tool_calls', 'dumped_rank'];

/** Columns that are shown with their sign. */
const SIGNED = new Set(['adv_mean', 'return_mean']);

/**
 * @param {Frame} frame the samples of a step
 * @returns {StepColumn[]} in the order of the schema, columns of the run's own behind
 */
export function stepColumns(frame) {
  const declared = new Map(TABLES.samples.columns.map(column => [column.name, column]));
  return frame.names.flatMap(name => {
    const column = declared.get(name);
    if (column && !column.group) return [];
    const cells = frame.columns[name];
    if (!column) return [ownColumn(name, cells)];
    return [{
      name,
      type: typeOf(column.kind),
      label: column.label || name,
      unit: column.unit,
      form: column.form,
      group: column.group,
      doc: column.doc,
      nullReason: column.null || 'not recorded',
      recorded: hasValue(cells),
    }];
  });
}

/**
 * @param {string} name a column that the schema does not declare
 * @param {ArrayLike<any>} cells
 * @returns {StepColumn}
 */
function ownColumn(name, cells) {
  const first = Array.prototype.find.call(cells, cell => cell !== null);
  const component = name.startsWith(REWARD_PREFIX);
  return {
    name,
    type: typeof first === 'boolean' ? 'boolean' : typeof first === 'string' ? 'text' : 'number',
    label: name,
    unit: '',
    form: 'number',
    group: component ? SAMPLE_GROUPS[1] : SAMPLE_GROUPS[SAMPLE_GROUPS.length - 1],
    doc: component ? `Component ${name.slice(REWARD_PREFIX.length)} of the reward.` : 'A column of this run.',
    nullReason: component ? "not a component of this sample's reward" : 'not recorded',
    recorded: first !== undefined,
  };
}

/**
 * @param {string} kind of the schema
 * @returns {import('./types.js').ColumnType}
 */
function typeOf(kind) {
  if (kind === 'bool') return 'boolean';
  return kind === 'str' || kind === 'json' ? 'text' : 'number';
}

/** @param {ArrayLike<any>} cells @returns {boolean} */
function hasValue(cells) {
  for (let row = 0; row < cells.length; row++) if (cells[row] !== null) return true;
  return false;
}

/**
 * @param {StepColumn} column
 * @returns {string} label and unit
 */
export function columnTitle(column) {
  return column.unit ? `${column.label}, ${column.unit}` : column.label;
}

/**
 * A cell as text; null gives an en dash.
 *
 * @param {StepColumn} column
 * @param {any} cell
 * @param {Frame} [frame] with row: for columns that are shown together with another
 * @param {number} [row]
 * @returns {string}
 */
export function cellText(column, cell, frame, row) {
  if (column.name === 'weight_version' && typeof cell === 'string') {
    return versionText(cell, frame?.columns.weight_version_min?.[row ?? 0] ?? null);
  }
  if (SIGNED.has(column.name) && typeof cell === 'number') return signed(cell);
  return value(cell, column.form);
}

/**
 * @param {string} version the last one
 * @param {number | null} oldest
 * @returns {string} `v12`, or `v11–v12` where an older one took part
 */
export function versionText(version, oldest) {
  const last = /^\d+$/.test(version) ? `v${version}` : version;
  return oldest === null || String(oldest) === version ? last : `v${oldest}–${last}`;
}

/**
 * A mean of a column as text: shares of yes as percent.
 *
 * @param {StepColumn} column
 * @param {number | null} mean
 * @returns {string}
 */
export function meanText(column, mean) {
  if (column.type === 'boolean') return value(mean, 'frac');
  return value(mean, column.form === 'count' || column.form === 'id' ? 'number' : column.form);
}

/**
 * The address of a sample's page, from the site root.
 *
 * @param {number} step
 * @param {number} row
 * @param {boolean} evaluation
 * @returns {string}
 */
export function sampleHref(step, row, evaluation) {
  return `sample.html?step=${step}&row=${row}${evaluation ? '&eval=1' : ''}`;
}

/**
 * A range of values in words, for chips.
 *
 * @param {[number, number]} range
 * @returns {string}
 */
export function rangeText([low, high]) {
  return `${value(low, 'number')}–${value(high, 'number')}`.replaceAll(' ', THIN);
}
