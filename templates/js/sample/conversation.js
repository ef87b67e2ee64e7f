/** The conversation tab: roles in a gutter, thinking and tools foldable, nothing rendered as markup. */

import { el, fill, on } from '../dom.js';
import { count, number, plural, seconds } from '../format.js';
import { marksIn } from './bridge.js';
import { conversationSide } from './conversationside.js';
import { inert } from './glyphs.js';
import { rewardFact, versionName } from './head.js';
import { entriesOf } from './messages.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {import('./messages.js').Entry} Entry */
/** @typedef {import('./messages.js').Block} Block */
/** @typedef {import('./lifecycle.js').Life} Life */
/** @typedef {import('../types').Context} Context */

const LONG_WAIT_S = 10; // a queue between turns that is worth a line of its own

/**
 * @param {HTMLElement} host
 * @param {HTMLElement} actions where fold and markup switches go
 * @param {Tokens} tokens
 * @param {Life|null} life
 * @param {Context} context
 * @returns {() => void} dispose
 */
export function mountConversation(host, actions, tokens, life, context) {
  const { data } = tokens;
  const recorded = data.conversation !== null;
  const entries = recorded ? entriesOf(data.conversation?.messages) : unrecorded(data);
  const column = el('div', { class: 'conversation' });
  const fold = el('button', { type: 'button', class: 'button plain' }, 'Fold all');
  const markup = el('button', { type: 'button', class: 'button plain' }, 'Show markup');
  fill(actions, fold, markup);
  fill(host, el('div', { class: 'conversation-grid' }, column, conversationSide(tokens, entries, context)));

  function draw() {
    const raw = context.url.get('markup') === '1';
    markup.textContent = raw ? 'Hide markup' : 'Show markup';
    fold.hidden = raw;
    fold.textContent = 'Fold all';
    fill(column, recorded ? null : whyUnrecorded(data), messageNodes(entries, raw), closing(data));
  }

  /** @returns {HTMLElement[]} */
  function messageNodesOf(/** @type {boolean} */ raw) {
    const nodes = [];
    let turn = 0;
    for (const entry of entries) {
      if (entry.role === 'assistant') {
        turn += 1;
        const wait = waitBefore(life, turn);
        if (wait > LONG_WAIT_S) {
          nodes.push(el('p', { class: 'between' }, el('span', null, ''), el('span', null, el('b', null, seconds(wait)), ` in the queue before turn ${turn}`)));
        }
      }
      nodes.push(messageNode(entry, turn, raw, tokens, life, context));
    }
    return nodes;
  }

  /**
   * @param {Entry[]} list
   * @param {boolean} raw
   */
  function messageNodes(list, raw) {
    return list.length > 0 ? messageNodesOf(raw) : [emptyConversation(recorded)];
  }

  const off = [
    on(fold, 'click', () => {
      const folds = [...column.querySelectorAll('details.block')];
      const open = folds.some((one) => one.hasAttribute('open'));
      for (const one of folds) one.toggleAttribute('open', !open);
      fold.textContent = open ? 'Unfold all' : 'Fold all';
    }),
    on(markup, 'click', () => {
      const raw = context.url.get('markup') === '1';
      context.url.set({ markup: raw ? null : '1' });
      draw();
    }),
  ];
  draw();
  showAsked(column, context.url.get('message'));
  return () => off.forEach((stop) => stop());
}

/**
 * Brings the message that a link names into view.
 *
 * @param {HTMLElement} column
 * @param {string|null} asked its place among the messages, from 0
 */
function showAsked(column, asked) {
  const messages = /** @type {NodeListOf<HTMLElement>} */ (column.querySelectorAll('section.message'));
  const found = asked !== null && /^\d+$/.test(asked) ? messages[Number(asked)] : undefined;
  if (!found) return;
  found.dataset.asked = '';
  requestAnimationFrame(() => found.scrollIntoView({ block: 'center' }));
}

/**
 * @param {Tokens['data']} data
 * @returns {Entry[]} prompt and response as they were dumped
 */
function unrecorded(data) {
  const { prompt, response } = data.recorded;
  const before =
    typeof prompt === 'string'
      ? [{ role: 'prompt', name: '', callId: '', blocks: [textBlock(prompt)], raw: prompt }]
      : entriesOf(prompt);
  if (response === null || response === '') return before;
  return [...before, { role: 'response', name: '', callId: '', blocks: [textBlock(response)], raw: response }];
}

/**
 * @param {string} text
 * @returns {Block}
 */
function textBlock(text) {
  return { kind: 'text', text, name: '', id: '', argument: '' };
}

/**
 * @param {Tokens['data']} data
 * @returns {HTMLElement}
 */
function whyUnrecorded(data) {
  const kind = data.sample.evaluation ? 'of this evaluation' : 'of this sample';
  return el(
    'p',
    { class: 'note unrecorded' },
    `No conversation ${kind} was recorded: Miles writes one for session and multi-turn runs only. Prompt and response stand here as text.`,
  );
}

/**
 * @param {boolean} recorded
 * @returns {HTMLElement}
 */
function emptyConversation(recorded) {
  const why = recorded ? 'The recorded conversation has no messages.' : 'Neither prompt nor response was recorded as text.';
  return el('div', { class: 'empty' }, el('p', { class: 'empty-title' }, 'Nothing to read'), el('p', null, why));
}

/**
 * @param {Entry} entry
 * @param {number} turn
 * @param {boolean} raw
 * @param {Tokens} tokens
 * @param {Life|null} life
 * @param {Context} context
 * @returns {HTMLElement}
 */
function messageNode(entry, turn, raw, tokens, life, context) {
  const spoken = entry.role === 'assistant' ? turn : 0;
  const body = raw
    ? [el('pre', { class: 'markup' }, inert(entry.raw))]
    : entry.blocks.length > 0
      ? entry.blocks.map((one) => blockNode(one, entry.role, marked(tokens, spoken, one.text, context)))
      : [el('p', { class: 'muted' }, 'no content')];
  return el(
    'section',
    { class: `message ${roleClass(entry.role)}`, data: { role: entry.role } },
    el('div', { class: 'gutter' }, el('b', null, entry.role === '' ? 'no role' : entry.role), gutterLines(entry, turn, tokens, life).map((line) => el('span', null, line))),
    el('div', { class: 'message-body' }, body),
  );
}

/**
 * @param {string} role
 * @returns {string}
 */
function roleClass(role) {
  return ['system', 'user', 'assistant', 'tool', 'prompt', 'response'].includes(role) ? `role-${role}` : 'role-other';
}

/**
 * @param {Entry} entry
 * @param {number} turn
 * @param {Tokens} tokens
 * @param {Life|null} life
 * @returns {string[]}
 */
function gutterLines(entry, turn, tokens, life) {
  const lines = [];
  if (entry.role === 'assistant') {
    const segment = tokens.segments.find((one) => one.kind === 'turn' && one.turn === turn);
    const version = segment?.version ? `, ${versionName(segment.version)}` : '';
    lines.push(`turn ${turn}${version}`);
    const time = timeOf(life, 'gen', turn);
    if (time !== null) lines.push(seconds(time));
  } else if (entry.role === 'tool') {
    const time = timeOf(life, 'tool', turn);
    const name = inert(entry.name);
    lines.push([name, time === null ? '' : seconds(time)].filter(Boolean).join(', '));
    if (tokens.data.mask.includes(0)) lines.push('masked');
  } else {
    const segment = tokens.segments.find((one) => one.kind === 'prompt' && one.label === entry.role);
    if (segment) lines.push(plural(segment.end - segment.start, 'token'));
    if (entry.name) lines.push(inert(entry.name));
  }
  return lines.filter(Boolean);
}

/**
 * @param {Life|null} life
 * @param {string} kind
 * @param {number} turn
 * @returns {number|null}
 */
function timeOf(life, kind, turn) {
  const strips = life?.strips.filter((one) => one.kind === kind && one.turn === turn) ?? [];
  return strips.length > 0 ? strips.reduce((sum, one) => sum + one.end - one.start, 0) : null;
}

/**
 * @param {Life|null} life
 * @param {number} turn
 * @returns {number} seconds in the queue between the turn and the one before
 */
function waitBefore(life, turn) {
  const start = life?.strips.find((one) => one.kind === 'gen' && one.turn === turn)?.start;
  const before = life?.strips.findLast((one) => one.kind === 'gen' && one.turn === turn - 1)?.end;
  if (!life || start === undefined || before === undefined) return 0;
  return life.strips
    .filter((one) => one.kind === 'queued' && one.start >= before && one.end <= start)
    .reduce((sum, one) => sum + one.end - one.start, 0);
}

/**
 * @param {Tokens} tokens
 * @param {number} turn of the speaker; 0 for other speakers
 * @param {string} text
 * @param {Context} context
 * @returns {(Node|string)[]} the text with links where its tokens stand out
 */
function marked(tokens, turn, text, context) {
  /** @type {(Node|string)[]} */
  const parts = [];
  let from = 0;
  for (const mark of turn > 0 ? marksIn(tokens, turn, text) : []) {
    const position = String(mark.position);
    parts.push(inert(text.slice(from, mark.from)));
    parts.push(
      el(
        'a',
        {
          href: `?tab=tokens&pos=${position}`,
          title: `importance ratio ${number(mark.ratio)}, position ${position}`,
          onClick: (/** @type {Event} */ event) => {
            event.preventDefault();
            context.url.set({ tab: 'tokens', pos: position }, { push: true });
          },
        },
        inert(text.slice(mark.from, mark.to)),
      ),
    );
    from = mark.to;
  }
  return [...parts, inert(text.slice(from))];
}

/**
 * @param {Block} block
 * @param {string} role
 * @param {(Node|string)[]} content its text as it is shown
 * @returns {HTMLElement}
 */
function blockNode(block, role, content) {
  if (block.kind === 'thinking') return foldable('thinking', 'thinking', block.text, el('div', { class: 'prose' }, content));
  if (block.kind === 'call') return callNode(block, content);
  if (block.kind === 'image') return imageNode(block);
  if (block.kind === 'other') return foldable('other', inert(block.name), block.text, el('pre', null, content));
  if (role === 'tool') return foldable('result', 'result', block.text, el('pre', null, content));
  return el('div', { class: 'prose' }, content);
}

/**
 * @param {string} kind
 * @param {string} label
 * @param {string} text whose size is told, also when folded
 * @param {HTMLElement} content
 * @returns {HTMLElement}
 */
function foldable(kind, label, text, content) {
  return el(
    'details',
    { class: `block ${kind}`, open: true },
    el('summary', null, label, el('small', null, sizeOf(text))),
    content,
  );
}

/**
 * @param {string} text
 * @returns {string}
 */
function sizeOf(text) {
  const lines = text.split('\n').length;
  return `${plural([...text].length, 'character')}${lines > 1 ? `, ${count(lines)} lines` : ''}`;
}

/**
 * @param {Block} block
 * @param {(Node|string)[]} content
 * @returns {HTMLElement}
 */
function callNode(block, content) {
  return el(
    'details',
    { class: 'block call', open: true },
    el('summary', { title: block.id ? `call ${block.id}` : null }, 'calls ', el('b', null, inert(block.name)), block.argument && `, ${inert(block.argument)}`, el('small', null, sizeOf(block.text))),
    block.text === '' ? el('p', { class: 'muted' }, 'without arguments') : el('pre', null, content),
  );
}

/**
 * @param {Block} block
 * @returns {HTMLElement}
 */
function imageNode(block) {
  if (block.text === '') return el('p', { class: 'muted' }, `image, ${block.name}`);
  const image = el('img', { src: block.text, alt: 'image of the message', class: 'message-image' });
  image.addEventListener('error', () => image.replaceWith(el('p', { class: 'muted' }, 'image, not readable')));
  return image;
}

/**
 * @param {Tokens['data']} data
 * @returns {HTMLElement}
 */
function closing(data) {
  const { sample, groupRow } = data;
  const mean = groupRow?.reward_mean ?? null;
  return el(
    'p',
    { class: 'sample-closing' },
    `${sample.status === null ? '' : `Ended ${sample.status}. `}Reward `,
    el('b', null, rewardFact(sample).value),
    sample.adv_mean === null ? '' : `; advantage ${number(sample.adv_mean)}`,
    mean === null ? '' : ` against a group mean of ${number(mean)}`,
    '.',
  );
}
