import { FileProtocolError, SliceError } from './errors.js';

/**
 * The whole bytes of one file of the site. No range and no header is trusted.
 *
 * @param {string} address relative to the page
 * @param {boolean} fileProtocol
 * @returns {Promise<ArrayBuffer>} rejects with SliceError or FileProtocolError
 */
export async function fetchBytes(address, fileProtocol) {
  if (fileProtocol) throw new FileProtocolError();
  const name = address.replace(/^(\.\.\/)+/, '');
  let response;
  try {
    response = await fetch(address);
  } catch (cause) {
    throw new SliceError(name, `${name} could not be fetched: the connection failed.`, cause);
  }
  if (!response.ok) {
    throw new SliceError(name, `${name} is missing from this site (the server answered ${response.status}). ` +
      'The report may have been rebuilt since this page was opened: reload it.');
  }
  try {
    return await response.arrayBuffer();
  } catch (cause) {
    throw new SliceError(name, `${name} could not be fetched: the connection broke off.`, cause);
  }
}
