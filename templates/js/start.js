import { mountCharts } from './charts.js';
import { createContext } from './context.js';
import { failure } from './ui/failure.js';
import { mountShell } from './ui/shell.js';
import { VIEWS } from './views.js';

/**
 * Bring the page of this document to life.
 *
 * @param {import('./types').Context['codecs']} codecs decoders beyond snappy
 */
export function start(codecs) {
  const context = createContext(document, codecs);
  mountShell(document, context);
  const main = document.getElementById('main');
  const mount = VIEWS[document.body.dataset.view ?? ''];
  if (main && mount) {
    try {
      mount(main, context);
    } catch (error) {
      context.log.warn('The page stays as the build drew it.', error);
      main.prepend(failure(error, { what: 'What script adds to this page' }));
    }
  }
  mountCharts(document, context);
}
