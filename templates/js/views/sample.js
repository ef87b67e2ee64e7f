import { el, fill, on } from '../dom.js';
import { mountConversation } from '../sample/conversation.js';
import { RequestError, fetchPayload } from '../sample/fetch.js';
import { headOf, sampleHref, titleOf } from '../sample/head.js';
import { drawLife } from '../sample/lifeview.js';
import { lifeOf } from '../sample/lifecycle.js';
import { payloadText, readPayload } from '../sample/payload.js';
import { mountRaw } from '../sample/raw.js';
import { createTokens } from '../sample/tokens.js';
import { tokensFrame } from '../sample/tokensframe.js';
import { mountTokens } from '../sample/tokensview.js';
import { createCopyAs } from '../ui/copyas.js';
import { csv, download } from '../ui/download.js';
import { failure } from '../ui/failure.js';
import { createPopover } from '../ui/popover.js';
import { createTabs } from '../ui/tabs.js';

/** @typedef {import('../types').Context} Context */

const TABS = ['conversation', 'tokens', 'raw'];
/** Without these tables of the sample a tab would say something false. @type {Record<string, string[]>} */
const NEEDED = {
  conversation: ['conversations', 'texts'],
  tokens: ['tokens', 'token_texts'],
  raw: ['texts', 'tokens'],
};
/** @type {Record<string, string>} */
const TITLES = { conversation: 'The conversation', tokens: 'The tokens', raw: 'What was recorded' };

/**
 * One sample: from the page itself, or from the slices of the step that the address names.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  let dispose = () => {};
  let gone = false;
  /** @param {{payload: any, troubles: import('../sample/fetch.js').Troubles}} found */
  function show({ payload, troubles }) {
    if (!gone) dispose = showSample(root, context, payload, troubles);
  }
  if (context.page.payload) {
    show({ payload: context.page.payload, troubles: {} });
  } else {
    fill(root, skeleton());
    load();
  }

  function load() {
    fetchPayload(context).then(show, (error) => {
      if (!gone) fill(root, el('header', { class: 'head' }, el('h1', null, 'Sample')), troubleOf(context, error, load));
    });
  }
  return () => {
    gone = true;
    dispose();
  };
}

/**
 * @param {HTMLElement} root
 * @param {Context} context
 * @param {any} payload
 * @param {import('../sample/fetch.js').Troubles} troubles
 * @returns {() => void}
 */
function showSample(root, context, payload, troubles) {
  const data = readPayload(payload);
  const tokens = createTokens(data);
  const life = lifeOf(data.spans);
  const saves = el('button', { type: 'button', class: 'button plain' }, 'Download');
  const popover = createPopover(saves, (box, close) => fillSaves(box, close, payload, tokens), { align: 'end', class: 'menu-list', role: 'menu', label: 'Download' });
  const copy = copyMenu(context, data.sample, () => chosen());
  const lifeHost = el('div');
  const list = el('div');
  const actions = el('div', { class: 'tab-actions' });
  const panels = Object.fromEntries(TABS.map((name) => [name, el('div', { class: `panel sample-${name}` })]));
  document.title = `${titleOf(data.sample)} · ${data.facts.run_name ?? ''}`;
  /** @param {string[]} tables @param {string} what @returns {HTMLElement | null} where one of them cannot be had */
  const trouble = (tables, what) => {
    const table = tables.find((name) => name in troubles);
    return table === undefined ? null : failure(troubles[table], { what, retry: () => location.reload() });
  };
  fill(root, headOf(tokens, context, [copy.button, saves]), trouble(['groups'], 'What is known of its group'), life ? lifeHost : trouble(['trajectories'], 'Its lifecycle'), el('div', { class: 'tab-row' }, list, actions), Object.values(panels));
  const disposeLife = life ? drawLife(lifeHost, life, data.facts.start_ts ?? null) : () => {};
  /** @type {Map<string, () => void>} */
  const mounted = new Map();
  /** @type {Record<string, () => () => void>} */
  const mounts = {
    conversation: () => mountConversation(panels.conversation, actions, tokens, life, context),
    tokens: () => mountTokens(panels.tokens, tokens, context),
    raw: () => mountRaw(panels.raw, tokens),
  };
  const tabs = createTabs(
    list,
    [
      { id: 'conversation', label: 'Conversation', panel: panels.conversation },
      { id: 'tokens', label: 'Tokens', panel: panels.tokens },
      { id: 'raw', label: 'Raw', panel: panels.raw },
    ],
    { selected: chosen(), label: 'Views of the sample', onSelect: (id) => context.url.set({ tab: id === TABS[0] ? null : id }, { push: true }) },
  );

  /** @returns {string} */
  function chosen() {
    const wanted = context.url.get('tab');
    if (wanted === null && context.url.get('pos') !== null) return 'tokens';
    return wanted !== null && TABS.includes(wanted) ? wanted : TABS[0];
  }

  function follow() {
    const id = chosen();
    tabs.select(id);
    actions.hidden = id !== 'conversation';
    if (!mounted.has(id)) mounted.set(id, mountPart(id));
  }

  /** @param {string} id @returns {() => void} */
  function mountPart(id) {
    const problem = trouble(NEEDED[id], TITLES[id]);
    if (!problem) return mounts[id]();
    fill(panels[id], problem);
    return () => {};
  }

  follow();
  const off = [context.url.onChange(follow), on(document, 'keydown', (event) => turnPage(event, context, data))];
  return () => {
    off.forEach((stop) => stop());
    mounted.forEach((stop) => stop());
    disposeLife();
    popover.dispose();
    copy.dispose();
  };
}

/**
 * @param {KeyboardEvent} event
 * @param {Context} context
 * @param {import('../sample/payload.js').SampleData} data
 */
function turnPage(event, context, data) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof HTMLElement && event.target.closest('input, textarea, [role="listbox"]')) return;
  const place = data.group.findIndex((sibling) => sibling.row === data.sample.row);
  const targets = /** @type {Record<string, number|null|undefined>} */ ({
    '[': data.group[place - 1]?.row,
    ']': place < 0 ? null : data.group[place + 1]?.row,
    ',': data.neighbours.previous,
    '.': data.neighbours.next,
  });
  const row = targets[event.key];
  if (row !== null && row !== undefined) location.href = sampleHref(context, data.sample, row);
}

/**
 * The data of the chosen tab, elsewhere.
 *
 * @param {Context} context
 * @param {import('../sample/payload.js').SampleData['sample']} sample
 * @param {() => string} chosen
 */
function copyMenu(context, sample, chosen) {
  const recipes = context.page.copies[sample.evaluation ? 'eval' : 'train'];
  const recipe = /** @type {import('../ui/copyas.js').Recipe} */ ({
    what: 'the shown tab',
    get sql() { return recipes[chosen()].sql; },
    get command() { return recipes[chosen()].command; },
    get run() { return recipes[chosen()].run; },
    get site() { return recipes[chosen()].site; },
  });
  return createCopyAs(recipe, context, () => ({ step: sample.step, row: sample.row }));
}

/**
 * @param {HTMLElement} box
 * @param {() => void} close
 * @param {any} payload
 * @param {import('../sample/tokens.js').Tokens} tokens
 */
function fillSaves(box, close, payload, tokens) {
  const { sample } = tokens.data;
  const name = `${sample.evaluation ? 'eval' : 'step'}-${sample.step}-row-${sample.row}`;
  const saves = /** @type {[string, () => void][]} */ ([
    ['Sample as JSON', () => download(`${name}.json`, payloadText(payload), 'application/json')],
    ['Tokens as CSV', () => download(`${name}-tokens.csv`, csv(tokensFrame(tokens)))],
  ]);
  for (const [label, save] of saves) {
    box.append(
      el('button', { type: 'button', role: 'menuitem', onClick: () => { close(); save(); } }, label),
    );
  }
}

/**
 * @param {Context} context
 * @param {unknown} error
 * @param {() => void} retry
 * @returns {HTMLElement}
 */
function troubleOf(context, error, retry) {
  if (!(error instanceof RequestError)) return failure(error, { what: 'The sample', retry });
  const step = context.url.get('step');
  const kind = context.url.get('eval') === '1' ? '&eval=1' : '';
  return el(
    'div',
    { class: 'empty' },
    el('p', { class: 'empty-title' }, error.message),
    error.choices.length > 0
      ? el('ul', null, error.choices.map((choice) => el('li', null, el('a', { href: context.href(`sample.html?step=${step}&row=${choice.row}${kind}`) }, choice.text))))
      : el('p', null, 'Choose one on the page of its step: ', el('a', { href: context.href('rollouts/index.html') }, 'Rollouts')),
  );
}

/** @returns {HTMLElement} of the size of what comes */
function skeleton() {
  return el(
    'div',
    { class: 'sample-loading', 'aria-busy': 'true', 'aria-label': 'The sample is being fetched' },
    el('div', { class: 'skeleton', style: { height: '28px', width: '240px' } }),
    el('div', { class: 'skeleton', style: { height: '52px' } }),
    el('div', { class: 'skeleton', style: { height: '480px' } }),
  );
}
