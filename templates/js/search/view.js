/**
 * The search tab: a field, how far the search is, and hits with what stands around them.
 */

import { clear, el, fill } from '../dom.js';
import { count, plural, size, value } from '../format.js';
import { TABLES } from '../schema.js';
import { inert } from '../sample/glyphs.js';
import { sampleHref } from '../step/columns.js';
import { failure } from '../ui/failure.js';
import { createPopover } from '../ui/popover.js';
import { placesFor } from './places.js';
import { runSearch } from './run.js';
import { parseSearch, searchColumns, searchWords } from './terms.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('./run.js').Hit} Hit */
/** @typedef {import('./terms.js').Search} Search */

const MOST_SHOWN = 200;
const EXAMPLES = /** @type {[string, string][]} */ ([
  ['"carry the one"', 'says so somewhere'],
  ['wait -evaluation', 'a word, in train steps only'],
  ['reward_value <= 0 therefore', 'no reward, and the word'],
  ['status:aborted', 'aborted samples of all steps'],
  ['truncated step >= 1', 'hit the length limit, from step 1'],
  ['tool_calls >= 2 error', 'several tools, and the word'],
  ['mean_abs_lp_diff > 0.05', 'trainer and engine disagree'],
]);

/**
 * @param {HTMLElement} host
 * @param {Context} context `context.page`: sample_columns, ask_bytes
 * @param {{pages: {label: string, href: string}[]}} options entries of the rail
 * @returns {{open: (text: string) => void, focus: () => void, dispose: () => void}}
 */
export function mountSearch(host, context, { pages }) {
  const columns = searchColumns(context.page.sample_columns ?? []);
  const input = el('input', {
    class: 'mono', type: 'search', name: 'search', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off',
    placeholder: 'Words, "a phrase", reward_value < 0.5, status:aborted, -truncated', 'aria-label': 'Search samples', 'aria-describedby': 'search-trouble',
  });
  const problem = el('p', { class: 'field-error', id: 'search-trouble', role: 'alert', hidden: true });
  const status = el('p', { class: 'query-status', role: 'status' });
  const stop = el('button', { type: 'button', class: 'button', hidden: true, onClick: () => abort.abort() }, 'Stop');
  const pick = el('button', { type: 'button', class: 'select' }, 'Examples');
  const extra = el('div', { class: 'search-extra' });
  const list = el('ol', { class: 'search-hits' });
  const places = el('p', { class: 'search-places', hidden: true });
  const popover = createPopover(pick, (box, close) => {
    for (const [text, says] of EXAMPLES) {
      box.append(el('button', { type: 'button', role: 'menuitem', onClick: () => {
        close();
        input.value = text;
        submit();
      } }, el('code', null, text), el('small', null, says)));
    }
  }, { align: 'end', class: 'menu-list step-examples', role: 'menu', label: 'Example searches' });
  fill(host,
    el('form', { class: 'search-form', role: 'search', onSubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      submit();
    } },
    el('label', { class: 'field filter search-field' }, input),
    el('button', { type: 'submit', class: 'button primary' }, 'Search'), stop, pick),
    problem, places, el('div', { class: 'search-head' }, status), extra, list);
  let abort = new AbortController();
  let asked = /** @type {string | null} */ (null);

  function submit() {
    context.url.set({ search: input.value, tab: null }, { push: true });
    search(input.value);
  }

  /** @param {string} text */
  async function search(text) {
    abort.abort();
    abort = new AbortController();
    const { signal } = abort;
    asked = text;
    input.value = text;
    clear(list);
    clear(extra);
    clear(status);
    const parsed = parseSearch(text, columns);
    problem.hidden = parsed.error === null;
    problem.textContent = parsed.error ?? '';
    showPlaces(text);
    if (!text.trim()) help();
    if (parsed.error || (!parsed.terms.length && !parsed.words.length)) return;
    if (parsed.words.length && parsed.words.every(word => word.negated) && !parsed.terms.length) {
      problem.hidden = false;
      problem.textContent = 'A search needs something to look for beside what must not be there.';
      return;
    }
    stop.hidden = false;
    let hits = 0;
    let told = { done: 0, all: 0, bytes: 0 };
    const meant = searchWords(parsed).join(' and ');
    const tell = (/** @type {string} */ ending) => fill(status, el('b', null, plural(hits, 'sample')), ` with ${meant}; `, ending);
    const reach = () => `${count(told.done)} of ${plural(told.all, 'step')}, ${size(told.bytes)} read`;
    try {
      await runSearch(context, parsed, context.page.ask_bytes, {
        signal,
        onHits: found => {
          if (signal.aborted) return;
          list.append(...found.slice(0, Math.max(0, MOST_SHOWN - hits)).map(one => hitNode(one, parsed, context)));
          hits += found.length;
        },
        onProgress: now => {
          if (signal.aborted) return;
          told = now;
          fill(status, el('b', null, plural(hits, 'sample')), ` with ${meant}; searching: ${reach()} `, el('progress', { max: 1, value: told.all ? told.done / told.all : 0, 'aria-hidden': 'true' }));
        },
        mayGoOn: bytes => question(bytes, told, signal),
      });
      if (signal.aborted) return;
      tell(`${plural(told.all, 'step')} searched, ${size(told.bytes)} read.${hits > MOST_SHOWN ? ` The first ${count(MOST_SHOWN)} are shown: name more to see fewer.` : ''}`);
      if (!hits) fill(extra, el('div', { class: 'empty' }, el('p', { class: 'empty-title' }, 'Nothing found'), el('p', null, told.all ? 'No sample of the steps that were searched has all of it.' : 'No step of this report can hold such a sample.')));
    } catch (error) {
      if (abort.signal !== signal) return;
      if (error instanceof DOMException && error.name === 'AbortError') tell(`stopped after ${reach()}.`);
      else {
        clear(status);
        fill(extra, failure(error, { what: 'The search', retry: () => search(text) }));
      }
    } finally {
      if (abort.signal === signal) stop.hidden = true;
    }
  }

  /**
   * @param {number} bytes
   * @param {{done: number, all: number}} told
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>}
   */
  function question(bytes, told, signal) {
    return new Promise(resolve => {
      const answer = (/** @type {boolean} */ yes) => () => {
        clear(extra);
        resolve(yes);
      };
      signal.addEventListener('abort', answer(false), { once: true });
      fill(extra, el('div', { class: 'query-ask', role: 'group', 'aria-label': 'Read more?' },
        el('p', null, el('b', null, `${size(bytes)} have been read`), ` for ${count(told.done)} of ${plural(told.all, 'step')}. Naming steps (`, el('code', null, 'step >= 10'), ') makes a search shorter.'),
        el('div', { class: 'toolbar' }, el('button', { type: 'button', class: 'button primary', onClick: answer(true) }, 'Read on'), el('button', { type: 'button', class: 'button', onClick: answer(false) }, 'Stop here'))));
    });
  }

  /** @param {string} text */
  async function showPlaces(text) {
    const steps = await context.catalog().then(catalog => catalog.steps, () => []);
    if (asked !== text) return;
    const found = placesFor(text, pages, steps);
    places.hidden = !found.length;
    fill(places, el('span', { class: 'muted' }, 'Go to '), found.map(({ label, href }, i) => [i ? ' · ' : '', el('a', { href: context.href(href) }, label)]).flat());
  }

  function help() {
    fill(extra, el('p', { class: 'note' }, 'Words and "phrases" are looked for in conversations, prompts and responses of all samples, step by step. ',
      el('code', null, 'column op value'), ', ', el('code', null, 'status:x'), ' and bare boolean columns choose samples, ', el('code', null, 'step >= 10'), ' and ', el('code', null, '-evaluation'), ' choose steps; a leading ', el('code', null, '-'), ' negates.'));
  }

  const follow = () => {
    const text = context.url.get('search');
    if (text !== null && text !== asked) search(text);
  };
  help();
  follow();
  const off = context.url.onChange(follow);
  return {
    open(text) {
      input.value = text;
      submit();
    },
    focus: () => input.focus(),
    dispose() {
      abort.abort();
      off();
      popover.dispose();
    },
  };
}

/**
 * @param {Hit} hit
 * @param {Search} search
 * @param {Context} context
 * @returns {HTMLLIElement}
 */
function hitNode(hit, search, context) {
  const base = sampleHref(hit.step, hit.row, hit.evaluation);
  const { sample } = hit;
  return el('li', { class: 'search-hit' },
    el('p', { class: 'search-where' },
      el('a', { href: context.href(base) }, `${hit.evaluation ? 'Eval of step' : 'Step'} ${hit.step}, sample ${sample.sample_index ?? hit.row}`),
      el('span', { class: 'muted' }, facts(sample, search))),
    hit.found.map(({ source, pieces }) => {
      const href = source.message >= 0 ? `${base}&tab=conversation&message=${source.message}` : `${base}&tab=raw`;
      return el('p', { class: 'search-context' },
        el('a', { href: context.href(href), class: 'search-part' }, partName(source)),
        el('span', { class: 'search-words' }, pieces.map(({ text, marked }) => (marked ? el('mark', null, inert(text)) : inert(text)))));
    }));
}

/**
 * @param {import('./texts.js').Source} source
 * @returns {string}
 */
function partName({ part, role, turn }) {
  if (part !== 'conversation') return role ? `${part}, ${inert(role)}` : part;
  return turn ? `turn ${turn}, ${inert(role)}` : inert(role) || 'message';
}

/**
 * @param {Record<string, any>} sample
 * @param {Search} search
 * @returns {string} what tells samples apart, and what was asked about
 */
function facts(sample, { terms }) {
  const names = [...new Set(['status', 'reward_value', 'response_length', ...terms.map(term => term.column)])].filter(name => name !== 'step' && name !== 'evaluation');
  const forms = new Map(TABLES.samples.columns.map(column => [column.name, column]));
  return names.filter(name => sample[name] !== null && sample[name] !== undefined).map(name => {
    const column = forms.get(name);
    if (name === 'status') return String(sample[name]);
    return `${column?.label ?? name} ${value(sample[name], column?.form ?? 'number')}`;
  }).join(' · ');
}
