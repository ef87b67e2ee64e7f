/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Props
 */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element. Strings become text, never markup.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props | null} [props] `on…` functions are listeners, `class`, `style` (object) and `data`
 *   (object) as expected, true an empty attribute, null or false no attribute, all else attributes
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  apply(node, props ?? {});
  append(node, children);
  return node;
}

/**
 * An SVG element; the arguments are those of `el`.
 *
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, props, ...children) {
  const node = document.createElementNS(SVG, tag);
  apply(node, props ?? {});
  append(node, children);
  return node;
}

/**
 * @template {Element} N
 * @param {N} node
 * @param {...(Child | Child[])} children what it holds from now on
 * @returns {N}
 */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/**
 * @template {Element} N
 * @param {N} node
 * @returns {N} the node, emptied
 */
export function clear(node) {
  node.replaceChildren();
  return node;
}

/**
 * A listener with the way to remove it.
 *
 * @param {EventTarget} target
 * @param {string} type
 * @param {(event: any) => void} listener
 * @param {AddEventListenerOptions} [options]
 * @returns {() => void}
 */
export function on(target, type, listener, options) {
  target.addEventListener(type, listener, options);
  return () => target.removeEventListener(type, listener, options);
}

/**
 * @param {HTMLElement | SVGElement} node
 * @param {Props} props
 */
function apply(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on') && typeof value === 'function') {
      node.addEventListener(name.slice(2).toLowerCase(), value);
    } else if (name === 'style' && typeof value === 'object') {
      for (const [key, style] of Object.entries(value)) node.style.setProperty(key, String(style));
    } else if (name === 'data') {
      for (const [key, text] of Object.entries(value)) node.dataset[key] = String(text);
    } else {
      node.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/**
 * @param {Element} node
 * @param {(Child | Child[])[]} children
 */
function append(node, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}
