/** The tokens tab: colours, jumps, chart, strip and the panel beside it, held together by one position. */

import { clear, el, fill, on } from '../dom.js';
import { count, number } from '../format.js';
import { copyLink } from '../ui/download.js';
import { createSelect } from '../ui/menu.js';
import { createCard } from './card.js';
import { jumpsOf } from './jumps.js';
import { createOverview } from './overview.js';
import { createPanel, outsideWords } from './panel.js';
import { scaleOf } from './scale.js';
import { defaultSeries, seriesDoc, seriesFormat, seriesNames } from './series.js';
import { createStrip } from './strip.js';
import { findText } from './tokens.js';

/** @typedef {import('./tokens.js').Tokens} Tokens */
/** @typedef {import('../types').Context} Context */

/**
 * @param {HTMLElement} host
 * @param {Tokens} tokens
 * @param {Context} context
 * @returns {() => void} dispose
 */
export function mountTokens(host, tokens, context) {
  if (tokens.length === 0) {
    fill(host, emptyState(tokens));
    return () => clear(host);
  }
  const { data } = tokens;
  const first = defaultSeries(data);
  /** @type {number|null} */
  let position = readPosition();
  let pinned = false;
  /** @type {{start: number, end: number}[]} */
  let hits = [];
  let ids = context.url.get('ids') === '1';

  const overviewHost = el('div', { class: 'overview' });
  const caption = el('p', { class: 'caption tokens-caption' });
  const legend = el('div', { class: 'legend' });
  const stripHost = el('div', { class: 'strip-host' });
  const status = el('p', { class: 'visually-hidden', role: 'status' });
  const found = el('span', { class: 'field-note' });
  const margin = data.series.get('lp_diff') ?? (first ? data.series.get(first) ?? null : null);

  const card = createCard(tokens, () => pin(false));
  const overview = createOverview(overviewHost, tokens, (index) => strip.reveal(index, 'start'));
  const panel = createPanel(tokens, (index) => go(index));
  const jumps = jumpsOf(tokens);
  const select = createSelect({
    label: 'colour',
    value: chosenSeries() ?? 'none',
    options: seriesNames(data).map((name) => ({
      value: name,
      label: name,
      title: data.series.has(name) ? seriesDoc(name) : 'not recorded',
      disabled: !data.series.has(name),
    })),
    onChange: (name) => context.url.set({ series: name === first ? null : name }, { push: true }),
  });
  const finder = el('input', {
    type: 'search',
    placeholder: 'Find text',
    'aria-label': 'Find text in the tokens',
    onInput: () => search(),
    onKeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter') nextHit(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') {
        finder.value = '';
        search();
        finder.blur();
      }
    },
  });
  const idsButton = el('button', { type: 'button', class: 'button', onClick: () => context.url.set({ ids: ids ? null : '1' }) }, 'Ids');
  const buttons = jumps.map((jump) =>
    el(
      'button',
      {
        type: 'button',
        class: 'button',
        title: jump.title,
        disabled: jump.absent,
        data: { jump: jump.key },
        onClick: () => run(jump),
      },
      jump.label,
      el('kbd', null, jump.key),
    ),
  );
  fill(
    host,
    el(
      'div',
      { class: 'toolbar tokens-toolbar' },
      select.node,
      legend,
      el('span', { class: 'spring' }),
      el('label', { class: 'field find' }, finder, found, el('kbd', null, 'f')),
      idsButton,
    ),
    el('div', { class: 'toolbar tokens-toolbar jumps' }, el('span', { class: 'muted' }, 'Jump to'), buttons),
    caption,
    overviewHost,
    el('div', { class: 'tokens-grid' }, el('div', { class: margin ? 'strip-column' : 'strip-column no-margin' }, stripHead(margin), stripHost), panel.node),
    status,
  );
  const strip = createStrip(stripHost, tokens, margin, {
    hover(index) {
      if (pinned) return;
      if (index === null) card.hide();
      else card.show(index, strip.elementOf(index), false);
    },
    choose: (index) => {
      if (pinned && index === position) pin(false);
      else go(index);
    },
    view: (from, to) => {
      overview.view(from, to);
      if (pinned && position !== null) placeCard();
    },
  });

  /** @returns {string|null} */
  function chosenSeries() {
    const wanted = context.url.get('series');
    return wanted !== null && data.series.has(wanted) ? wanted : first;
  }

  /** @returns {number|null} */
  function readPosition() {
    const text = context.url.get('pos');
    if (text === null || !/^\d+$/.test(text) || Number(text) >= tokens.length) return null;
    return Number(text);
  }

  function colour() {
    const name = chosenSeries();
    const series = name === null ? null : (data.series.get(name) ?? null);
    const scale = series ? scaleOf(series, seriesFormat(series.name)) : null;
    strip.colour(series, scale);
    fill(legend, scale ? legendOf(tokens, scale) : el('span', { class: 'muted' }, 'No series was recorded'));
    select.set(name ?? 'none');
    const charted = name === 'imp_ratio' ? 'lp_diff' : name;
    const words = charted === null ? 'No per-token series' : `${charted} over position`;
    fill(
      caption,
      charted !== null && el('b', null, charted),
      charted === null ? words : ` ${charted === 'lp_diff' ? '= train − rollout log prob, ' : ''}over position. Hatched: masked. Outlined: in view; drag to scroll.`,
      scale?.fitted ? ` ${scale.fitted}.` : null,
    );
    overview.show(charted === null ? null : (data.series.get(charted) ?? null), words);
  }

  function placeCard() {
    if (position !== null) card.show(position, strip.elementOf(position), true);
  }

  /** @param {boolean} on */
  function pin(on) {
    pinned = on && position !== null;
    stripHost.classList.toggle('pinned', pinned);
    if (pinned) placeCard();
    else card.hide();
  }

  /**
   * @param {number} index
   * @param {boolean} [pinning]
   */
  function go(index, pinning = true) {
    position = index;
    strip.show(index);
    strip.select(index);
    overview.select(index);
    panel.select(index);
    pin(true);
    pinned = pinning;
    context.url.set({ pos: String(index) });
    status.textContent = `Token ${tokens.shown(index)}, position ${count(index)}`;
  }

  /** @param {import('./jumps.js').Jump} jump */
  function run(jump) {
    const target = jump.find(position ?? -1);
    if (target !== null) go(target);
  }

  function search() {
    hits = findText(tokens, finder.value);
    strip.mark(hits);
    found.textContent = finder.value === '' ? '' : hits.length >= 10_000 ? 'over 10 000' : count(hits.length);
    if (hits.length > 0) strip.show(hits[0].start);
  }

  /** @param {number} by */
  function nextHit(by) {
    if (hits.length === 0) return;
    const at = position ?? -1;
    const next = by > 0 ? (hits.find((hit) => hit.start > at) ?? hits[0]) : (hits.findLast((hit) => hit.start < at) ?? hits[hits.length - 1]);
    go(next.start);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || host.hidden) return;
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (target?.closest('input, textarea, select, [contenteditable], [role="listbox"]')) return;
    if (target?.closest('[role="tablist"]') && (event.key.startsWith('Arrow') || event.key === 'Enter')) return;
    const onButton = target?.closest('button, a') !== null && target !== null;
    const at = position ?? 0;
    const moves = /** @type {Record<string, number>} */ ({
      ArrowLeft: Math.max(0, at - 1),
      ArrowRight: position === null ? 0 : Math.min(tokens.length - 1, at + 1),
      ArrowUp: strip.lineStep(at, -1),
      ArrowDown: strip.lineStep(at, 1),
    });
    if (event.key in moves && (position !== null || stripHost.contains(target))) {
      event.preventDefault();
      go(moves[event.key], pinned);
    } else if (event.key === 'Enter' && !onButton && position !== null) {
      event.preventDefault();
      pin(!pinned);
    } else if (event.key === 'Escape') {
      pin(false);
    } else if (event.key === 'f') {
      event.preventDefault();
      finder.focus();
    } else if (event.key === 'y') {
      copyLink(context.url.href());
    } else {
      const jump = jumps.find((one) => one.key === event.key && !one.absent);
      if (jump) run(jump);
    }
  }

  function stateOf() {
    return ['series', 'ids', 'pos'].map((name) => context.url.get(name)).join('|');
  }

  function follow() {
    colour();
    const wanted = context.url.get('ids') === '1';
    idsButton.setAttribute('aria-pressed', String(wanted));
    if (wanted !== ids) {
      ids = wanted;
      strip.showIds(ids);
    }
    const next = readPosition();
    if (next !== null && next !== position) go(next);
  }

  strip.showIds(ids);
  idsButton.setAttribute('aria-pressed', String(ids));
  colour();
  let last = stateOf();
  const off = [
    on(document, 'keydown', key),
    on(window, 'scroll', () => pinned && placeCard(), { passive: true }),
    context.url.onChange(() => {
      const now = stateOf();
      if (now === last) return;
      last = now;
      follow();
    }),
  ];
  if (position !== null) {
    const index = position;
    requestAnimationFrame(() => !host.hidden && go(index));
  }
  return () => {
    off.forEach((stop) => stop());
    strip.dispose();
    overview.dispose();
    select.dispose();
    card.dispose();
    clear(host);
  };
}

/**
 * @param {import('./payload.js').Series|null} margin
 * @returns {HTMLElement}
 */
function stripHead(margin) {
  return el(
    'div',
    { class: 'strip-head' },
    el('span', null, 'Turn, version, positions'),
    el('span', null, 'Tokens'),
    el('span', null, margin ? `Largest ${margin.name} of the line` : ''),
  );
}

/**
 * @param {Tokens} tokens
 * @param {import('./scale.js').Scale} scale
 * @returns {HTMLElement[]}
 */
function legendOf(tokens, scale) {
  const ramp = el('i', { class: scale.diverging ? 'ramp diverging' : 'ramp', 'aria-hidden': 'true' });
  const parts = [el('span', { class: 'legend-ramp' }, el('span', { class: 'muted' }, scale.low), ramp, el('span', { class: 'muted' }, scale.high))];
  if (tokens.clip && tokens.data.series.has('imp_ratio')) {
    parts.push(
      el('span', { class: 'legend-clip', title: 'trained tokens whose ratio is outside' }, el('u', null, 'out of clip'), ` ${outsideWords(tokens)}`),
    );
  }
  return parts;
}

/**
 * @param {Tokens} tokens
 * @returns {HTMLElement}
 */
function emptyState(tokens) {
  const { sample } = tokens.data;
  const why =
    sample.status === 'aborted'
      ? 'The sample was aborted before anything was generated.'
      : 'The rollout file holds no token for this sample.';
  return el(
    'div',
    { class: 'empty' },
    el('p', { class: 'empty-title' }, 'No tokens'),
    el('p', null, why),
    el('p', null, `Its response length is recorded as ${number(sample.response_length)}.`),
  );
}
