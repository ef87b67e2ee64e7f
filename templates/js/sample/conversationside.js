/** Beside the conversation: turns with their size, the siblings of the group, tools offered. */

import { el } from '../dom.js';
import { DASH, count, number } from '../format.js';
import { total } from './aftertool.js';
import { BRIDGED_RATIO, strongTokens } from './bridge.js';
import { sampleHref, siblingName } from './head.js';
import { toolsOffered } from './messages.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {import('./messages.js').Entry} Entry */
/** @typedef {import('../types').Context} Context */

const NOTABLE_NATS = 0.1; // mean |lp_diff| of a turn from which its bar is painted
const MOST_TURNS = 60;

/**
 * @param {Tokens} tokens
 * @param {Entry[]} entries
 * @param {Context} context
 * @returns {HTMLElement}
 */
export function conversationSide(tokens, entries, context) {
  return el(
    'aside',
    { class: 'sample-side', 'aria-label': 'About the conversation' },
    turnsPart(tokens, context),
    groupPart(tokens, context),
    toolsPart(entries),
    bridgePart(tokens, context),
  );
}

/**
 * @param {Tokens} tokens
 * @param {Context} context
 * @returns {HTMLElement|null}
 */
function turnsPart(tokens, context) {
  const { offset, series } = tokens.data;
  const difference = series.get('lp_diff');
  const response = tokens.segments.filter((segment) => segment.kind !== 'prompt');
  if (tokens.length === 0) return null;
  const parts = [
    { label: 'prompt', start: 0, end: offset, strong: false, mean: null },
    ...response.map((segment) => ({
      label: segment.label,
      start: segment.start,
      end: segment.end,
      strong: segment.kind !== 'masked',
      mean: difference ? meanOf(difference, segment.start, segment.end) : null,
    })),
  ].filter((part) => part.end > part.start);
  const most = Math.max(...parts.map((part) => part.end - part.start));
  const rows = parts.slice(0, MOST_TURNS).map((part) => {
    const size = part.end - part.start;
    const high = part.mean !== null && part.mean > NOTABLE_NATS;
    return el(
      'li',
      { class: part.strong ? 'strong' : null, title: part.mean === null ? null : `mean |lp diff| ${number(part.mean)}` },
      el('a', { href: `?tab=tokens&pos=${part.start}`, onClick: (/** @type {Event} */ event) => open(event, context, part.start) }, part.label),
      el('span', { class: 'side-bar' }, el('i', { class: high ? 'high' : null, style: { width: `${((100 * size) / most).toFixed(1)}%` } })),
      el('span', { class: 'num' }, count(size)),
    );
  });
  const rest = parts.length - rows.length;
  return el(
    'section',
    { class: 'side-part' },
    el('h2', null, 'Turns'),
    el('ol', { class: 'side-list' }, rows),
    rest > 0 && el('p', { class: 'caption' }, `and ${count(rest)} more in the tokens tab`),
    el('p', { class: 'caption' }, difference ? `tokens; orange: mean |lp diff| above ${NOTABLE_NATS}` : 'tokens'),
  );
}

/**
 * @param {Event} event
 * @param {Context} context
 * @param {number} position
 */
function open(event, context, position) {
  event.preventDefault();
  context.url.set({ tab: 'tokens', pos: String(position) }, { push: true });
}

/**
 * @param {import('./payload.js').Series} series
 * @param {number} start
 * @param {number} end
 * @returns {number|null}
 */
function meanOf(series, start, end) {
  const { sum, count: known } = total(series, start, end);
  return known > 0 ? sum / known : null;
}

/**
 * @param {Tokens} tokens
 * @param {Context} context
 * @returns {HTMLElement|null}
 */
function groupPart(tokens, context) {
  const { data } = tokens;
  if (data.group.length === 0) return null;
  const most = Math.max(1, ...data.group.map((sibling) => sibling.response_length ?? 0));
  const rows = data.group.map((sibling) => {
    const own = sibling.row === data.sample.row;
    const length = sibling.response_length;
    const reward = sibling.reward_value;
    return el(
      'li',
      { class: own ? 'own' : null, 'aria-current': own ? 'true' : null, title: `row ${sibling.row}, ${sibling.status ?? 'status not recorded'}` },
      el('a', { href: sampleHref(context, data.sample, sibling.row) }, siblingName(sibling)),
      el('span', { class: 'num', title: reward === null ? 'no reward was given' : null }, reward === null ? DASH : number(reward)),
      el('span', { class: 'side-bar' }, el('i', { style: { width: `${((100 * (length ?? 0)) / most).toFixed(1)}%` } })),
      el('span', { class: 'num' }, count(length)),
    );
  });
  return el(
    'section',
    { class: 'side-part' },
    el('h2', null, `Group ${data.sample.group_index}`),
    el('p', { class: 'caption' }, `Same prompt, ${count(data.group.length)} answers: reward and length`),
    el('ol', { class: 'side-list group-list' }, rows),
  );
}

/**
 * @param {Entry[]} entries
 * @returns {HTMLElement|null}
 */
function toolsPart(entries) {
  const tools = toolsOffered(entries);
  if (tools.length === 0) return null;
  return el(
    'section',
    { class: 'side-part' },
    el('h2', null, 'Tools offered'),
    tools.map((tool) =>
      el('details', { class: 'block' }, el('summary', { class: 'mono' }, `${tool.name}(${tool.parameters.join(', ')})`), el('pre', null, tool.schema)),
    ),
  );
}

/**
 * @param {Tokens} tokens
 * @param {Context} context
 * @returns {HTMLElement|null}
 */
function bridgePart(tokens, context) {
  const strong = strongTokens(tokens);
  if (strong.length === 0) return null;
  return el(
    'section',
    { class: 'side-part' },
    el('h2', null, 'Underlined words'),
    el('p', { class: 'secondary muted' }, `Tokens whose importance ratio is above ${BRIDGED_RATIO}. `),
    el('p', { class: 'secondary' }, el('a', { href: `?tab=tokens&pos=${strong[0]}`, onClick: (/** @type {Event} */ event) => open(event, context, strong[0]) }, 'Read them as tokens →')),
  );
}
