import { FileProtocolError, RebuiltError, SliceError } from './errors.js';
import { contentHash } from './sha256.js';

/** @typedef {import('../types').Context} Context */

const SERVER_TROUBLE = 500;
const AGAIN = 'Build or copy the site again.';

/**
 * The whole bytes of one file of the site. No range and no header is trusted; a connection that fails is tried once more.
 *
 * @param {string} address relative to the page
 * @param {boolean} fileProtocol
 * @returns {Promise<ArrayBuffer>} rejects with SliceError or FileProtocolError
 */
export async function fetchBytes(address, fileProtocol) {
  if (fileProtocol) throw new FileProtocolError();
  try {
    return await fetchOnce(address);
  } catch (error) {
    if (!(error instanceof SliceError && error.passing)) throw error;
    return fetchOnce(address);
  }
}

/**
 * @param {string} address
 * @returns {Promise<ArrayBuffer>}
 */
async function fetchOnce(address) {
  const name = address.replace(/^(\.\.\/)+/, '');
  let response;
  try {
    response = await fetch(address);
  } catch (cause) {
    throw new SliceError(name, `${name} could not be fetched: the connection failed.`, cause, { passing: true });
  }
  if (response.status >= SERVER_TROUBLE) {
    throw new SliceError(name, `${name} could not be fetched: the server answered ${response.status}.`, null, { passing: true });
  }
  if (!response.ok) throw new SliceError(name, `${name} is missing from this site (the server answered ${response.status}). ${AGAIN}`);
  try {
    return await response.arrayBuffer();
  } catch (cause) {
    throw new SliceError(name, `${name} could not be fetched: the connection broke off.`, cause, { passing: true });
  }
}

/**
 * A file that a catalogue lists, proved by size and hash.
 *
 * @param {Context} context
 * @param {{path: string, bytes: number, sha256: string}} file
 * @returns {Promise<ArrayBuffer>} rejects with SliceError, FileProtocolError, or RebuiltError where a new report explains it
 */
export function fetchListed(context, file) {
  return proved(context, file.path, async content => {
    if (content.byteLength !== file.bytes) {
      return `has ${content.byteLength} bytes where ${file.bytes} were written: it was cut off or altered`;
    }
    return await contentHash(content) === file.sha256 ? '' : 'was altered: its hash is not the one it was written with';
  });
}

/**
 * A file that only a page names, proved by the hash in its name.
 *
 * @param {Context} context
 * @param {string} path
 * @returns {Promise<ArrayBuffer>} rejects as fetchListed
 */
export function fetchNamed(context, path) {
  return proved(context, path, async content => (path.includes(await contentHash(content)) ? '' : 'was altered: its hash is not the one in its name'));
}

/**
 * @param {Context} context
 * @param {string} path
 * @param {(content: ArrayBuffer) => Promise<string>} problemOf
 * @returns {Promise<ArrayBuffer>}
 */
async function proved(context, path, problemOf) {
  try {
    const content = await context.fetch(path);
    const problem = await problemOf(content);
    if (problem) throw new SliceError(path, `${path} ${problem}. ${AGAIN}`);
    return content;
  } catch (error) {
    if (error instanceof SliceError && await context.rebuilt()) throw new RebuiltError(path, error);
    throw error;
  }
}

/**
 * Whether this page, fetched anew, belongs to other data: the report was rebuilt since it was opened.
 *
 * @param {string} address of the page
 * @param {string} catalog that the page names
 * @returns {Promise<boolean>} false also where it cannot be told
 */
export async function isRebuilt(address, catalog) {
  try {
    const response = await fetch(address, { cache: 'no-store' });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const named = page.body.dataset.catalog;
    return response.ok && Boolean(named) && named !== catalog;
  } catch {
    return false;
  }
}
