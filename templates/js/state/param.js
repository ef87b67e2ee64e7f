/**
 * A value that several parts of a view share.
 *
 * @template T
 * @param {T} value
 * @returns {import('../types').Param<T>}
 */
export function param(value) {
  /** @type {Set<(value: T) => void>} */
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      [...listeners].forEach(listener => listener(next));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * Only the newest of several overlapping tasks is heard: the rule for brushing and typing.
 *
 * @template A, R
 * @param {(argument: A) => Promise<R>} task
 * @param {(result: R) => void} done
 * @param {(error: unknown) => void} failed
 * @returns {(argument: A) => void}
 */
export function latest(task, done, failed) {
  let newest = 0;
  return argument => {
    const mine = ++newest;
    task(argument).then(
      result => { if (mine === newest) done(result); },
      error => { if (mine === newest) failed(error); },
    );
  };
}
