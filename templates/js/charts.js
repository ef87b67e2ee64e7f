import { el, on } from './dom.js';
import { csv, download, downloadPng, downloadSvg, toast } from './ui/download.js';
import { createPopover } from './ui/popover.js';
import { createTooltip, tooltipRows } from './ui/tooltip.js';

/** @typedef {import('./types').Context} Context */
/** @typedef {Record<string, any>} Spec */

/** How long a pointer rests before the chart library, 300 kB, is worth fetching. */
const INTENT_MS = 120;

/**
 * Make the drawn figures of a page alive when somebody looks closer: the library and the spec are
 * fetched then, and the chart takes the place of its drawing in the same size.
 *
 * @param {ParentNode} scope
 * @param {Context} context
 * @returns {() => void}
 */
export function mountCharts(scope, context) {
  const tooltip = createTooltip();
  const figures = /** @type {HTMLElement[]} */ ([...scope.querySelectorAll('figure.chart[data-spec]')]);
  const offs = figures.map(figure => mountFigure(figure, context, tooltip));
  return () => {
    offs.forEach(off => off());
    tooltip.dispose();
  };
}

/**
 * @param {HTMLElement} figure
 * @param {Context} context
 * @param {ReturnType<typeof createTooltip>} tooltip
 * @returns {() => void}
 */
function mountFigure(figure, context, tooltip) {
  const link = figure.closest('a');
  const host = link ?? figure;
  let timer = 0;
  /** @type {Promise<void> | undefined} */
  let alive;
  /** @type {(() => void) | undefined} */
  let finalize;
  const enliven = () => {
    alive ??= embed(figure, context, tooltip).then(
      done => { finalize = done; },
      error => context.log.warn(`The chart ${figure.dataset.figure} stays a drawing.`, error));
  };
  const offs = [
    on(host, 'pointerenter', () => { timer = window.setTimeout(enliven, INTENT_MS); }),
    on(host, 'pointerleave', () => {
      clearTimeout(timer);
      tooltip.hide();
    }),
    on(host, 'focusin', enliven),
  ];
  if (context.fileProtocol) offs.splice(0).forEach(off => off());
  if (!link) {
    offs.push(on(figure, 'click', () => { if (!context.fileProtocol) enliven(); }));
    offs.push(addMenu(figure, context));
  }
  return () => {
    clearTimeout(timer);
    offs.forEach(off => off());
    finalize?.();
  };
}

/**
 * @param {HTMLElement} figure
 * @param {Context} context
 * @param {ReturnType<typeof createTooltip>} tooltip
 * @returns {Promise<() => void>} resolves to its end; rejects if library or spec cannot be had
 */
async function embed(figure, context, tooltip) {
  const plot = /** @type {HTMLElement} */ (figure.querySelector('.chart-plot') ?? figure);
  const drawing = plot.querySelector('svg');
  if (!drawing) return () => {};
  const [vegaEmbed, spec] = await Promise.all([loadVega(context), readSpec(figure, context)]);
  const { width, height } = drawing.getBoundingClientRect();
  const stage = el('div', { class: 'chart-stage', style: { height: `${height}px` } });
  const shown = pageSpec(spec, getComputedStyle(figure).fontFamily, { width, height });
  const result = await vegaEmbed(stage, shown, {
    ast: true, actions: false, renderer: 'svg', defaultStyle: false, mode: 'vega-lite',
    tooltip: (/** @type {any} */ _handler, /** @type {MouseEvent} */ event, /** @type {any} */ _item, /** @type {any} */ value) =>
      showTooltip(tooltip, event, value),
  });
  drawing.replaceWith(stage);
  figure.dataset.alive = '';
  return () => result.finalize();
}

/**
 * @param {ReturnType<typeof createTooltip>} tooltip
 * @param {MouseEvent} event
 * @param {any} value what the spec's tooltip says; null or "" for nothing
 */
function showTooltip(tooltip, event, value) {
  if (value === null || value === undefined || value === '') {
    tooltip.hide();
    return;
  }
  const rows = typeof value === 'object' ? Object.entries(value) : [['', value]];
  tooltip.show({ left: event.clientX, top: event.clientY },
    tooltipRows(rows.map(([label, text]) => ({ label, value: String(text) }))));
}

/**
 * The spec in the colours and the font of the page, at a size.
 *
 * @param {Spec} spec its `usermeta.tokens` maps hex colours to custom properties
 * @param {string} font
 * @param {{width: number, height: number}} size pixels, for a chart that fits one; concatenated ones keep their own
 * @returns {Spec}
 */
export function pageSpec(spec, font, { width, height }) {
  const tokens = spec.usermeta?.tokens ?? {};
  const coloured = recoloured(spec, tokens);
  const isOne = typeof spec.width === 'number' && typeof spec.height === 'number';
  return { ...coloured, ...(isOne ? { width, height } : {}), config: { ...coloured.config, font } };
}

/**
 * @param {any} value
 * @param {Record<string, string>} tokens
 * @returns {any} with every string that is a known colour replaced; data are left as they are
 */
function recoloured(value, tokens) {
  if (typeof value === 'string') return Object.hasOwn(tokens, value) ? `var(${tokens[value]})` : value;
  if (Array.isArray(value)) return value.map(item => recoloured(item, tokens));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) =>
    [name, name === 'datasets' || name === 'values' || name === 'usermeta' ? item : recoloured(item, tokens)]));
}

/**
 * @param {HTMLElement} figure
 * @param {Context} context
 * @returns {Promise<Spec>}
 */
async function readSpec(figure, context) {
  return JSON.parse(new TextDecoder().decode(await context.fetch(figure.dataset.spec ?? '')));
}

/**
 * The chart library, fetched once a page.
 *
 * @param {Context} context
 * @returns {Promise<(element: HTMLElement, spec: Spec, options: Record<string, any>) => Promise<any>>}
 */
function loadVega(context) {
  const known = context.cache.get('vega.js');
  if (known) return known;
  const path = JSON.parse(document.body.dataset.assets || '{}')['vega.js'];
  const loaded = new Promise((resolve, reject) => {
    if (!path) throw new Error('this site has no vega.js');
    document.head.append(el('script', {
      src: context.href(path),
      onLoad: () => resolve(/** @type {any} */ (window).vegaEmbed),
      onError: () => reject(new Error(`${path} could not be loaded`)),
    }));
  });
  context.cache.set('vega.js', loaded);
  return loaded;
}

/**
 * The button that saves the figure, as it looks or as what it is made of.
 *
 * @param {HTMLElement} figure
 * @param {Context} context
 * @returns {() => void}
 */
function addMenu(figure, context) {
  const name = figure.dataset.figure || 'chart';
  const button = el('button', { class: 'button chart-save', type: 'button' }, 'Save');
  const drawing = () => /** @type {SVGSVGElement} */ (figure.querySelector('.chart-plot svg'));
  /** @type {[string, () => unknown][]} */
  const choices = [
    ['SVG', () => downloadSvg(drawing(), name)],
    ['PNG', () => downloadPng(drawing(), name)],
  ];
  if (!context.fileProtocol) {
    choices.push(
      ['CSV', async () => download(`${name}.csv`, specCsv(await readSpec(figure, context)))],
      ['Vega-Lite spec', async () => download(`${name}.vl.json`, JSON.stringify(await readSpec(figure, context), null, 1), 'application/json')]);
  }
  const popover = createPopover(button, (box, close) => {
    box.append(...choices.map(([label, save]) => el('button', {
      type: 'button', role: 'menuitem',
      onClick: async () => {
        close();
        try {
          await save();
        } catch (error) {
          toast(error instanceof Error ? error.message : String(error));
        }
      },
    }, label)));
  }, { align: 'end', class: 'menu-list', role: 'menu', label: `Save ${name}` });
  figure.append(button);
  return () => {
    popover.dispose();
    button.remove();
  };
}

/**
 * The rows that a spec draws.
 *
 * @param {Spec} spec
 * @returns {string} its largest data set as CSV
 */
export function specCsv(spec) {
  /** @type {Record<string, any>[][]} */
  const sets = Object.values(spec.datasets ?? {});
  const rows = sets.reduce((largest, set) => (set.length > largest.length ? set : largest), []);
  const names = [...new Set(rows.flatMap(row => Object.keys(row)))];
  return csv({
    length: rows.length, names,
    columns: Object.fromEntries(names.map(column => [column, rows.map(row => row[column] ?? null)])),
  });
}
