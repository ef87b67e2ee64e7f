/** @typedef {import('../types').Context} Context */

/**
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void}
 */
export function mount(root, context) {
  void root;
  void context;
  return () => {};
}
