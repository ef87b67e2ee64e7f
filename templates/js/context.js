import { openCatalog } from './data/catalog.js';
import { fetchBytes, isRebuilt } from './data/fetch.js';
import { createUrlState } from './state/url.js';

/** @typedef {import('./types').Context} Context */

/**
 * The context of a page: read once from its body and its JSON block.
 *
 * @param {Document} page
 * @param {Context['codecs']} codecs
 * @returns {Context}
 */
export function createContext(page, codecs) {
  const { root = '', catalog = '', assets = '{}' } = page.body.dataset;
  const files = new Map(Object.entries(JSON.parse(assets)));
  const block = page.getElementById('page-data');
  const fileProtocol = page.location.protocol === 'file:';
  const opened = once(() => openCatalog(context, catalog));
  const address = page.location.href.replace(/#.*/, '');
  /** @type {Context} */
  const context = {
    page: JSON.parse(block?.textContent || '{}'),
    root,
    href: path => root + path,
    asset: name => files.get(name) ?? null,
    catalog: opened,
    url: createUrlState(),
    log: { warn: (message, cause) => console.warn(message, cause) },
    fileProtocol,
    codecs,
    cache: new Map(),
    fetch: path => fetchBytes(root + path, fileProtocol),
    rebuilt: () => isRebuilt(address, catalog),
  };
  return context;
}

/**
 * @template T
 * @param {() => Promise<T>} make
 * @returns {() => Promise<T>} one promise for every call, until it fails: the next call makes another
 */
function once(make) {
  /** @type {Promise<T> | undefined} */
  let made;
  return () => {
    if (!made) {
      made = make();
      made.catch(() => { made = undefined; });
    }
    return made;
  };
}
