import { mountCharts } from './charts.js';
import { createContext } from './context.js';
import { mountCopyAs } from './ui/copyas.js';
import { failure } from './ui/failure.js';
import { mountShell } from './ui/shell.js';
import { VIEWS } from './views.js';

/**
 * Bring the page of this document to life.
 *
 * @param {import('./types').Context['codecs']} codecs decoders beyond snappy
 * @param {Record<string, import('./types').Mount>} [views] those that only this bundle has, by name
 */
export function start(codecs, views = {}) {
  const context = createContext(document, codecs);
  mountShell(document, context);
  const main = document.getElementById('main');
  const view = document.body.dataset.view ?? '';
  const mount = views[view] ?? VIEWS[view];
  if (main && mount) {
    try {
      mount(main, context);
    } catch (error) {
      context.log.warn('The page stays as the build drew it.', error);
      main.prepend(failure(error, { what: 'What script adds to this page' }));
    }
  }
  mountCharts(document, context);
  mountCopyAs(document, context);
}
