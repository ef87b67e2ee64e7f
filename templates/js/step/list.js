/**
 * Lists of names as one word of the link: parts between commas, commas and backslashes inside escaped.
 */

/** @param {string[]} parts @returns {string} */
export function joinList(parts) {
  return parts.map((part) => part.replace(/[\\,]/g, '\\$&')).join(',');
}

/** @param {string} text @returns {string[]} */
export function splitList(text) {
  if (text === '') return [];
  const parts = [''];
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    const last = parts.length - 1;
    if (character === ',') parts.push('');
    else if (character === '\\' && index + 1 < text.length) {
      index += 1;
      parts[last] += text.charAt(index);
    } else parts[last] += character;
  }
  return parts;
}
