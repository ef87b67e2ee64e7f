import { SliceError } from './errors.js';
import { fetchListed, fetchNamed } from './fetch.js';

/**
 * @typedef {import('../types').Catalog} Catalog
 * @typedef {import('../types').Context} Context
 * @typedef {import('../types').StepEntry} StepEntry
 */

/** The catalogue version that this code reads. */
export const VERSION = 1;

/**
 * Fetch and check a catalogue.
 *
 * @param {Context} context
 * @param {string} path from the site root; "" if the page has none
 * @returns {Promise<Catalog>} rejects with SliceError or FileProtocolError
 */
export async function openCatalog(context, path) {
  if (!path) throw new SliceError(path, 'This page has no data files.');
  return parse(context, path, await fetchNamed(context, path));
}

/**
 * @param {Context} context
 * @param {string} path
 * @param {ArrayBuffer} bytes
 * @returns {Catalog}
 */
function parse(context, path, bytes) {
  let value;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new SliceError(path, `${path} is damaged: it is not JSON.`, cause);
  }
  return readCatalog(context, path, value);
}

/**
 * @param {Context} context
 * @param {string} path for messages
 * @param {any} value parsed JSON of a catalogue
 * @returns {Catalog}
 */
export function readCatalog(context, path, value) {
  if (value?.version !== VERSION) {
    throw new SliceError(path, `${path} was written by another version of miles-report ` +
      `(catalogue ${value?.version}, this page reads ${VERSION}). Build the site again.`);
  }
  /** @type {StepEntry[]} */
  const steps = value.steps ?? [];
  /** @type {Map<string, Promise<Catalog>>} */
  const opened = new Map();
  return {
    facts: value.facts ?? value.run ?? {},
    steps,
    slices: table => value.tables?.[table] ?? [],
    step: async (step, evaluation) => {
      const entry = steps.find(item => item.step === step && item.evaluation === evaluation);
      const name = `${evaluation ? 'Eval of step' : 'Step'} ${step}`;
      if (!entry) throw new SliceError(path, `${name} is not in this report.`);
      if (!entry.catalog) throw new SliceError(path, `${name} has no data here (${entry.state}): see the notices.`);
      const inner = entry.catalog;
      const known = opened.get(inner.path) ?? fetchListed(context, inner).then(bytes => parse(context, inner.path, bytes));
      opened.set(inner.path, known);
      known.catch(() => opened.delete(inner.path));
      return known;
    },
  };
}
