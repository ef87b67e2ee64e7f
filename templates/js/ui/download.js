import { el } from '../dom.js';

/** @typedef {import('../types').Frame} Frame */

/**
 * Rows as CSV (RFC 4180), values as stored, absent ones empty.
 *
 * @param {Frame} frame
 * @param {string[]} [names] columns in order
 * @param {ArrayLike<number>} [rows] which, in order; all if left out
 * @returns {string}
 */
export function csv(frame, names = frame.names, rows) {
  const lines = [names.map(quoted).join(',')];
  const count = rows ? rows.length : frame.length;
  for (let i = 0; i < count; i++) {
    const row = rows ? rows[i] : i;
    lines.push(names.map(name => quoted(frame.columns[name]?.[row])).join(','));
  }
  return `${lines.join('\r\n')}\r\n`;
}

/**
 * @param {any} value
 * @returns {string}
 */
function quoted(value) {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(Array.from(value)) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Hand a file to the reader.
 *
 * @param {string} name
 * @param {Blob | string} content
 * @param {string} [type]
 */
export function download(name, content, type = 'text/csv;charset=utf-8') {
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content;
  const address = URL.createObjectURL(blob);
  const link = el('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linejoin',
  'stroke-linecap', 'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'paint-order', 'visibility'];

/**
 * A drawing as it looks now, with its colours written into it.
 *
 * @param {SVGSVGElement} drawing in the document
 * @returns {string} a whole SVG file
 */
export function svgText(drawing) {
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const from = [drawing, ...drawing.querySelectorAll('*')];
  const to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((node, i) => {
    const computed = getComputedStyle(node);
    const style = STYLES.map(name => `${name}:${computed.getPropertyValue(name)}`).join(';');
    to[i].setAttribute('style', style);
    to[i].removeAttribute('class');
  });
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  return new XMLSerializer().serializeToString(copy);
}

/**
 * @param {SVGSVGElement} drawing in the document
 * @param {string} name file name without its ending
 */
export function downloadSvg(drawing, name) {
  download(`${name}.svg`, svgText(drawing), 'image/svg+xml');
}

/**
 * @param {SVGSVGElement} drawing in the document
 * @param {string} name file name without its ending
 * @returns {Promise<void>} rejects if the browser cannot draw it
 */
export async function downloadPng(drawing, name) {
  const { width, height } = drawing.getBoundingClientRect();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(drawing))}`;
  await image.decode();
  const canvas = el('canvas', { width: Math.ceil(width * 2), height: Math.ceil(height * 2) });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  pen.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise(resolve => canvas.toBlob(resolve, 'image/png'));
  if (blob) download(`${name}.png`, /** @type {Blob} */ (blob));
}

/**
 * Copy the link of what is shown, and say so.
 *
 * @param {string} [href]
 * @returns {Promise<void>}
 */
export async function copyLink(href = location.href) {
  try {
    await navigator.clipboard.writeText(href);
    toast('Link copied');
  } catch {
    toast('The link stands in the address bar: this browser does not let the page copy it.');
  }
}

/**
 * A short word at the foot of the window.
 *
 * @param {string} text
 */
export function toast(text) {
  const node = el('div', { class: 'toast', role: 'status' }, text);
  document.body.append(node);
  setTimeout(() => node.remove(), 2500);
}
