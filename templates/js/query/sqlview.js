/**
 * The SQL tab: editor, buttons, what a query reads, and its result.
 */

import { clear, el, fill } from '../dom.js';
import { count, plural, seconds, size } from '../format.js';
import { copyLink } from '../ui/download.js';
import { failure } from '../ui/failure.js';
import { createPopover } from '../ui/popover.js';
import { createEditor } from './editor.js';
import { createOutput } from './output.js';
import { formatted } from './paint.js';
import { planWords } from './plan.js';
import { createSession } from './session.js';
import { QueryError } from './troubles.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {import('./plan.js').Plan} Plan */
/** @typedef {{question: string, sql: string}} Example */
/** @typedef {{examples: Example[], engine_bytes: number, bytes: number, ask_bytes: number}} PageData */

const TYPING_MS = 600;

/**
 * @param {{editor: HTMLElement, output: HTMLElement}} places
 * @param {Context} context `context.page` is PageData
 * @returns {{open: (sql: string) => void, insert: (text: string) => void, dispose: () => void}} open: into the editor, without running it
 */
export function mountSql(places, context) {
  const { examples, engine_bytes: engineBytes, bytes: allBytes, ask_bytes: askBytes } = /** @type {PageData} */ (context.page);
  const session = createSession(context);
  const output = createOutput(places.output, context);
  const status = el('p', { class: 'query-status', role: 'status' });
  const question = el('div', { class: 'query-question' });
  const run = el('button', { type: 'button', class: 'button primary', onClick: () => start(true) }, 'Run ', el('kbd', null, 'Ctrl Enter'));
  const stop = el('button', { type: 'button', class: 'button', hidden: true, onClick: () => session.cancel() }, 'Cancel');
  const pick = el('button', { type: 'button', class: 'select' }, 'Examples');
  const editor = createEditor({ onRun: () => start(true), onChange: changed });
  const popover = createPopover(pick, (box, close) => {
    for (const { question: text, sql } of examples) {
      box.append(el('button', { type: 'button', role: 'menuitem', onClick: () => {
        close();
        open(sql);
      } }, text));
    }
  }, { class: 'menu-list', role: 'menu', label: 'Examples' });
  fill(places.editor, editor.node,
    el('div', { class: 'toolbar query-toolbar' }, run, stop, pick,
      el('button', { type: 'button', class: 'button', onClick: () => {
        editor.set(formatted(editor.text()));
        changed();
      } }, 'Format'),
      el('button', { type: 'button', class: 'button', onClick: share }, 'Copy link'),
      status),
    question);
  let typing = 0;
  let asked = '';
  let shown = false;
  let runs = 0;

  const idle = () => {
    const engine = session.ready() ? '' : `The engine (${size(engineBytes)}) loads on the first run.`;
    return engine;
  };

  /** Tells what the query would read, once typing pauses. */
  function changed() {
    clearTimeout(typing);
    editor.calm();
    if (!shown) fill(status, idle());
    typing = window.setTimeout(estimate, TYPING_MS);
  }

  async function estimate() {
    if (run.disabled) return;
    const sql = editor.text();
    if (sql === asked && shown) return;
    try {
      const { plan, toRead } = await session.plan(sql);
      if (editor.text() !== sql || run.disabled) return;
      fill(status, `${willRead(plan, toRead)} ${idle()}`.trim());
    } catch (error) {
      if (!run.disabled) fill(status, error instanceof QueryError ? idle() : '');
    }
  }

  /**
   * @param {Plan} plan
   * @param {number} toRead
   * @returns {string}
   */
  function willRead(plan, toRead) {
    const without = plan.absent.length ? ` (without ${plan.absent.join(', ')}, which cannot be read)` : '';
    if (!plan.tables.length) return 'Reads no table.';
    if (!toRead) return plan.files ? `Everything it needs is loaded: ${planWords(plan)}${without}.` : `Reads nothing: no file holds such rows${without}.`;
    return `Reads ${size(toRead)} of ${size(allBytes)}: ${planWords(plan)}${without}.`;
  }

  /** @param {string} sql */
  function open(sql) {
    editor.set(sql);
    changed();
    editor.focus();
  }

  function share() {
    context.url.set({ sql: editor.text() || null });
    copyLink();
  }

  /**
   * @param {boolean} push whether the query becomes a step of the back button
   * @param {boolean} byLink whether nobody asked but the link
   */
  async function start(push, byLink = false) {
    const sql = editor.text();
    clearTimeout(typing);
    asked = sql;
    runs += 1;
    const mine = runs;
    if (push && context.url.get('sql') !== sql) context.url.set({ sql, chart: null, x: null, y: null }, { push: true });
    editor.calm();
    clear(question);
    busy(true);
    output.dim(true);
    try {
      const outcome = await session.run(sql, {
        onPlan: (plan, toRead) => mine === runs && fill(status, willRead(plan, toRead)),
        ask: (plan, toRead) => ask(plan, toRead),
        onStage: (stage, done, all) => mine === runs && tell(stage, done ?? 0, all ?? 0),
      });
      if (mine !== runs) return;
      if (!outcome) {
        clear(question);
        fill(status, byLink ? idle() : 'Cancelled.');
        output.dim(false);
        return;
      }
      const { result, plan, read } = outcome;
      shown = true;
      output.show(result, await pagesOf(context));
      output.dim(false);
      const rows = `${result.more ? 'more than ' : ''}${plural(result.frame.length, 'row')}`;
      const from = plan.files ? `; ${read ? `read ${size(read)} of ${size(allBytes)}` : 'nothing more to read'}, ${planWords(plan)}` : '';
      fill(status, `${rows}, ${seconds(outcome.seconds)}${from}`);
    } catch (error) {
      if (mine !== runs) return;
      fail(error);
    } finally {
      if (mine === runs) busy(false);
    }
  }

  /** @param {unknown} error */
  function fail(error) {
    if (error instanceof QueryError) {
      fill(status, shown ? 'Not run; below is the last result.' : 'Not run.');
      editor.tell(error.message, error.trouble.at);
      return;
    }
    fill(status);
    fill(question, failure(error, { what: 'The query', retry: () => start(false) }));
  }

  /**
   * @param {Plan} plan
   * @param {number} toRead
   * @returns {Promise<boolean>}
   */
  function ask(plan, toRead) {
    return new Promise(resolve => {
      const answer = (/** @type {boolean} */ yes) => () => {
        clear(question);
        resolve(yes);
      };
      const yes = el('button', { type: 'button', class: 'button primary', onClick: answer(true) }, `Read ${size(toRead)} and run`);
      fill(question, el('div', { class: 'query-ask', role: 'group', 'aria-label': 'Read so much?' },
        el('p', null, el('b', null, `This query reads ${size(toRead)}`), ` in ${plural(plan.files, 'file')}: ${planWords(plan)}. `,
          'Naming steps where a table is named (', el('code', null, 'where step = 3'), ') reads only theirs.'),
        el('div', { class: 'toolbar' }, yes, el('button', { type: 'button', class: 'button', onClick: () => {
          answer(false)();
        } }, 'Not now'))));
      yes.focus();
      fill(status, `Above ${size(askBytes)}: waiting for you.`);
    });
  }

  /**
   * @param {'catalogues' | 'engine' | 'reading' | 'running'} stage
   * @param {number} done
   * @param {number} all
   */
  function tell(stage, done, all) {
    if (stage === 'catalogues' && all > 1) progress(`Looking up files: ${count(done)} of ${plural(all, 'step')}`, done / all);
    if (stage === 'engine' && !session.ready()) progress(`Loading the engine (${size(engineBytes)})`, null);
    if (stage === 'reading' && all) progress(`Reading ${size(done)} of ${size(all)}`, done / all);
    if (stage === 'running') progress('Running', null);
  }

  /**
   * @param {string} words
   * @param {number | null} part
   */
  function progress(words, part) {
    fill(status, `${words} `, el('progress', { max: 1, value: part, 'aria-hidden': 'true' }));
  }

  /** @param {boolean} on */
  function busy(on) {
    run.disabled = on;
    stop.hidden = !on;
    if (on && document.activeElement === run) stop.focus();
  }

  const follow = () => {
    const sql = context.url.get('sql', '');
    if (!sql || sql === asked) return;
    editor.set(sql);
    start(false);
  };
  const first = context.url.get('sql', '');
  editor.set(first || examples[0]?.sql || '');
  changed();
  if (first) startFromLink();
  const off = context.url.onChange(follow);

  /** A link runs by itself unless it would read much. */
  async function startFromLink() {
    asked = first;
    try {
      const { plan, toRead } = await session.plan(first);
      if (toRead <= askBytes) await start(false, true);
      else fill(status, `${willRead(plan, toRead)} It is not run by itself: press Run. ${idle()}`);
    } catch (error) {
      fail(error);
    }
  }

  return {
    open,
    insert: text => editor.insert(text),
    dispose() {
      clearTimeout(typing);
      off();
      popover.dispose();
      output.dispose();
      session.dispose();
    },
  };
}

/**
 * @param {Context} context
 * @returns {Promise<Set<string>>} steps that have a page
 */
async function pagesOf(context) {
  const { steps } = await context.catalog();
  return new Set(steps.map(({ step, evaluation }) => `${evaluation ? 'eval' : 'step'}-${step}`));
}
