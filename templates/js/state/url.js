/** @typedef {import('../types').UrlState} UrlState */

/**
 * State in the query string, so that a link shows what is on the screen.
 *
 * @param {Window} [host]
 * @returns {UrlState}
 */
export function createUrlState(host = window) {
  /** @type {Set<() => void>} */
  const listeners = new Set();
  const tell = () => [...listeners].forEach(listener => listener());
  host.addEventListener('popstate', tell);
  const get = (/** @type {string} */ name, /** @type {any} */ fallback = null) =>
    new URLSearchParams(host.location.search).get(name) ?? fallback;
  return {
    get,
    set(changes, { push = false } = {}) {
      const search = changedSearch(host.location.search, changes);
      if (search === host.location.search) return;
      const address = host.location.pathname + search + host.location.hash;
      if (push) host.history.pushState(null, '', address);
      else host.history.replaceState(null, '', address);
      tell();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    href: () => host.location.href,
  };
}

/**
 * A query string with some keys set or removed; the others stay as and where they are.
 *
 * @param {string} search "" or "?a=1&b=2"
 * @param {Record<string, string | null>} changes
 * @returns {string}
 */
export function changedSearch(search, changes) {
  const params = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) params.delete(name);
    else params.set(name, value);
  }
  const text = params.toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
  return text ? `?${text}` : '';
}
