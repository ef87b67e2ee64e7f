/** How the text of a token is written on screen: nothing invisible, nothing that reorders its line. */

const INVISIBLE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * @param {string} character
 * @returns {string}
 */
function name(character) {
  const code = character.charCodeAt(0);
  if (character === '\t') return '⇥';
  if (character === '\r') return '␍';
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/**
 * Text with a name for each control or invisible character; newlines become ↵ and a newline.
 * @param {string} text
 * @returns {string}
 */
export function visible(text) {
  return text.replace(INVISIBLE, name).replaceAll('\n', '↵\n');
}

/**
 * One line for lists and tooltips: spaces at the ends as dots, newlines as ↵.
 * @param {string} text
 * @param {number} [longest]
 * @returns {string}
 */
export function oneLine(text, longest = 32) {
  const shown = visible(text)
    .replaceAll('\n', '')
    .replace(/^ +| +$/g, (spaces) => '·'.repeat(spaces.length));
  const characters = [...shown];
  return characters.length <= longest ? shown : `${characters.slice(0, longest - 1).join('')}…`;
}

/**
 * Text as a page may show it in prose: control characters named, line breaks kept.
 * @param {string} text
 * @returns {string}
 */
export function inert(text) {
  return text.replace(INVISIBLE, (character) =>
    character === '\t' || character === '\r' ? character : name(character),
  );
}
