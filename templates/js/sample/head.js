/** What the sample is: crumbs, heading, neighbours and one line of figures; as `pages/sample_head.py` writes it. */

import { el } from '../dom.js';
import { DASH, count, frac, logprob, number, plural, signed, value as shownValue } from '../format.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {import('./payload.js').Sibling} Sibling */
/** @typedef {{label: string, value: string, title?: string}} Fact */

const COMPONENT = 'reward.';
const SUM_TOLERANCE = 1e-6;

/**
 * @param {Record<string, any>} sample
 * @returns {string}
 */
export function titleOf(sample) {
  return sample.sample_index === null ? `Row ${sample.row}` : `Sample ${sample.sample_index}`;
}

/**
 * @param {Record<string, any>} sample
 * @returns {Fact}
 */
export function rewardFact(sample) {
  const value = sample.reward_value;
  const parts = Object.keys(sample)
    .filter((name) => name.startsWith(COMPONENT) && sample[name] !== null)
    .map((name) => ({ name: name.slice(COMPONENT.length), value: sample[name] }));
  const words = parts.map((part) => `${part.name} ${typeof part.value === 'number' ? number(part.value) : shownValue(part.value)}`);
  if (value === null && parts.length === 0) {
    return { label: 'reward', value: DASH, title: 'no reward was given' };
  }
  if (parts.length === 0) return { label: 'reward', value: number(value) };
  const total = parts.reduce((sum, part) => (typeof part.value === 'string' ? NaN : sum + Number(part.value)), 0);
  const close =
    value !== null &&
    Math.abs(total - value) <= SUM_TOLERANCE * Math.max(Math.abs(total), Math.abs(value));
  return {
    label: 'reward',
    value: close ? `${number(value)} = ${words.join(' + ')}` : `${number(value)} (${words.join(', ')})`,
  };
}

/**
 * @param {Tokens} tokens
 * @returns {Fact[]}
 */
export function factsOf(tokens) {
  const { sample } = tokens.data;
  /** @type {(Fact|null)[]} */
  const facts = [
    { label: '', value: sample.status ?? 'status not recorded' },
    rewardFact(sample),
    sample.adv_mean === null
      ? null
      : { label: 'advantage', value: signed(sample.adv_mean), title: 'mean over trained tokens' },
    versions(sample),
    sample.staleness === null ? null : { label: 'staleness', value: count(sample.staleness) },
    turns(sample),
    lengths(tokens),
    sample.mean_abs_lp_diff === null
      ? null
      : {
          label: '|lp diff|',
          value: `mean ${logprob(sample.mean_abs_lp_diff)}, max ${logprob(sample.max_abs_lp_diff)}`,
          title: 'over trained tokens',
        },
    outside(tokens),
    trouble(sample),
  ];
  return facts.filter((fact) => fact !== null);
}

/**
 * @param {string} version
 * @returns {string}
 */
export function versionName(version) {
  return /^\d+$/.test(version) ? `v${version}` : version;
}

/**
 * @param {Record<string, any>} sample
 * @returns {Fact|null}
 */
function versions(sample) {
  const { weight_version: last, weight_version_min: oldest } = sample;
  if (last === null) return null;
  if (sample.mixed_version && oldest !== null && String(oldest) !== last) {
    return { label: 'versions', value: `v${oldest}${DASH}${versionName(last)}` };
  }
  return { label: 'version', value: versionName(last) };
}

/**
 * @param {Record<string, any>} sample
 * @returns {Fact|null}
 */
function turns(sample) {
  const words = sample.turns ? [plural(sample.turns, 'turn')] : [];
  if (sample.tool_calls) words.push(`${plural(sample.tool_calls, 'tool message')} in the prompt`);
  return words.length ? { label: '', value: words.join(', ') } : null;
}

/**
 * @param {Tokens} tokens
 * @returns {Fact}
 */
function lengths(tokens) {
  const { offset, mask, sample } = tokens.data;
  const length = tokens.length || sample.total_length || 0;
  if (length === 0) return { label: 'tokens', value: 'none recorded' };
  const prompt = tokens.length ? offset : length - (sample.response_length ?? 0);
  const shown = `${count(prompt)} prompt + ${count(length - prompt)} response`;
  const recorded = mask.some((one) => one >= 0);
  return { label: 'tokens', value: recorded ? `${shown}, ${count(tokens.trained)} trained` : shown };
}

/**
 * @param {Tokens} tokens
 * @returns {Fact|null}
 */
function outside(tokens) {
  if (!tokens.clip || !tokens.data.series.has('imp_ratio') || tokens.trained === 0) return null;
  return {
    label: 'out of clip',
    value: `${count(tokens.outsideCount)} (${frac(tokens.outsideCount / tokens.trained)})`,
    title: `trained tokens whose ratio is below ${number(tokens.clip.low)} or above ${number(tokens.clip.high)}`,
  };
}

/**
 * @param {Record<string, any>} sample
 * @returns {Fact|null}
 */
function trouble(sample) {
  if (sample.alignment_failed) {
    return { label: '', value: 'slices of the trainer could not be put together' };
  }
  return sample.remove_sample ? { label: '', value: 'removed from the loss' } : null;
}

/**
 * @param {Context} context
 * @param {Record<string, any>} sample whose step and kind the row shares
 * @param {number} row
 * @returns {string} link to any sample; keeps the tab
 */
export function sampleHref(context, sample, row) {
  const tab = context.url.get('tab');
  const kind = sample.evaluation ? '&eval=1' : '';
  return context.href(
    `sample.html?step=${sample.step}&row=${row}${kind}${tab ? `&tab=${encodeURIComponent(tab)}` : ''}`,
  );
}

/**
 * @param {Tokens} tokens
 * @param {Context} context
 * @param {Node[]} actions at the right of the heading
 * @returns {HTMLElement}
 */
export function headOf(tokens, context, actions) {
  const { data } = tokens;
  const { sample } = data;
  return el(
    'header',
    { class: 'head sample-head' },
    crumbs(context, data),
    el(
      'div',
      { class: 'head-line' },
      el('h1', null, titleOf(sample)),
      el('p', { class: 'subtitle' }, `row ${sample.row}`),
      groupNav(context, data),
      stepNav(context, data),
      el('div', { class: 'head-actions' }, actions),
    ),
    el(
      'dl',
      { class: 'facts' },
      factsOf(tokens).map((fact) =>
        el('div', { title: fact.title ?? null }, el('dt', null, fact.label), el('dd', null, fact.value)),
      ),
    ),
  );
}

/**
 * @param {Context} context
 * @param {Tokens['data']} data
 * @returns {HTMLElement}
 */
function crumbs(context, data) {
  const { sample } = data;
  const page = `rollouts/${sample.evaluation ? 'eval' : 'step'}-${sample.step}.html`;
  const name = sample.evaluation ? `Eval at step ${sample.step}` : `Step ${sample.step}`;
  const group =
    sample.group_index === null
      ? []
      : [
          ' / ',
          el('a', { href: context.href(`${page}?tab=groups&group=${sample.group_index}`) }, `Group ${sample.group_index}`),
        ];
  return el(
    'nav',
    { class: 'crumbs', 'aria-label': 'Where this page is' },
    el('a', { href: context.href(page) }, name),
    group,
  );
}

/**
 * @param {Context} context
 * @param {Tokens['data']} data
 * @returns {HTMLElement|null}
 */
function groupNav(context, data) {
  const place = data.group.findIndex((sibling) => sibling.row === data.sample.row);
  if (place < 0) return null;
  const before = data.group[place - 1];
  const after = data.group[place + 1];
  return el(
    'nav',
    { class: 'sample-nav', 'aria-label': 'Samples of the group' },
    before &&
      el('a', { rel: 'prev', href: sampleHref(context, data.sample, before.row), title: 'Previous in group, key [' }, `‹ ${siblingName(before)}`),
    el('span', null, `${place + 1} of ${data.group.length} in group`),
    after &&
      el('a', { rel: 'next', href: sampleHref(context, data.sample, after.row), title: 'Next in group, key ]' }, `${siblingName(after)} ›`),
  );
}

/**
 * @param {Context} context
 * @param {Tokens['data']} data
 * @returns {HTMLElement}
 */
function stepNav(context, data) {
  const { previous, next } = data.neighbours;
  return el(
    'nav',
    { class: 'sample-nav', 'aria-label': 'Samples of the step' },
    previous !== null &&
      el('a', { href: sampleHref(context, data.sample, previous), title: 'Previous in step, key ,' }, `‹ row ${previous}`),
    next !== null &&
      el('a', { href: sampleHref(context, data.sample, next), title: 'Next in step, key .' }, `row ${next} ›`),
  );
}

/**
 * @param {Sibling} sibling
 * @returns {string}
 */
export function siblingName(sibling) {
  return sibling.sample_index === null ? `row ${sibling.row}` : String(sibling.sample_index);
}
