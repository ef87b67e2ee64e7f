import { el } from '../dom.js';

/**
 * What stands where content should be when its data cannot be had: the sentence of the error, and
 * for a page opened from a file what still can be done.
 *
 * @param {unknown} error
 * @param {{what?: string, retry?: () => void}} [options] what: "The samples", "This chart"
 * @returns {HTMLElement}
 */
export function failure(error, { what = 'This part', retry } = {}) {
  const message = error instanceof Error ? error.message : String(error);
  const fromFile = error instanceof Error && error.name === 'FileProtocolError';
  if (error instanceof Error && error.name === 'RebuiltError') {
    return el('div', { class: 'error-box', role: 'alert' },
      el('p', { class: 'error-title' }, 'The report was rebuilt'),
      el('p', null, message),
      el('p', null, el('button', { class: 'button', type: 'button', onClick: () => location.reload() }, 'Reload')));
  }
  return el('div', { class: fromFile ? 'empty' : 'error-box', role: fromFile ? 'note' : 'alert' },
    el('p', { class: fromFile ? 'empty-title' : 'error-title' }, fromFile ? `${what} needs a server` : `${what} could not be shown`),
    el('p', null, message),
    retry && !fromFile ? el('p', null, el('button', { class: 'button', type: 'button', onClick: retry }, 'Try again')) : null);
}
