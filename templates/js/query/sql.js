/**
 * SQL text to tokens: enough to paint it, to find statements, and to say where something stands.
 */

/**
 * @typedef {object} SqlToken
 * @property {'word' | 'quoted' | 'string' | 'number' | 'operator' | 'comment'} kind quoted: an identifier in double quotes
 * @property {string} text as written
 * @property {string} name what it says: a word in lower case, a quoted name or string without its quotes
 * @property {number} start
 * @property {number} end
 */

const RULES = /** @type {[SqlToken['kind'], RegExp][]} */ ([
  ['comment', /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y],
  ['string', /'(?:[^']|'')*(?:'|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)/y],
  ['quoted', /"(?:[^"]|"")*(?:"|$)/y],
  ['number', /(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?/iy],
  ['word', /[\p{L}_][\p{L}\p{N}_$]*/uy],
  ['operator', /::|->>|->|<=|>=|<>|!=|==|\|\||\*\*|\/\/|:=|=>|[^\s]/uy],
]);

/**
 * @param {string} text
 * @returns {SqlToken[]} without white space; what is never closed goes to the end
 */
export function tokens(text) {
  /** @type {SqlToken[]} */
  const found = [];
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at])) {
      at += 1;
      continue;
    }
    for (const [kind, rule] of RULES) {
      rule.lastIndex = at;
      const match = rule.exec(text);
      if (!match) continue;
      found.push({ kind, text: match[0], name: nameOf(kind, match[0]), start: at, end: at + match[0].length });
      at += match[0].length;
      break;
    }
  }
  return found;
}

/**
 * @param {SqlToken['kind']} kind
 * @param {string} text
 * @returns {string}
 */
function nameOf(kind, text) {
  if (kind === 'word') return text.toLowerCase();
  if (kind === 'quoted') return text.slice(1).replace(/"$/, '').replaceAll('""', '"');
  if (kind === 'string' && text[0] === "'") return text.slice(1).replace(/'$/, '').replaceAll("''", "'");
  return text;
}

/**
 * @typedef {object} Statement
 * @property {string} text
 * @property {number} start where it stands in the whole text
 * @property {SqlToken[]} tokens without comments; offsets are of the whole text
 */

/**
 * @param {string} text
 * @returns {Statement[]} one for each part between semicolons that holds more than comments
 */
export function statements(text) {
  /** @type {Statement[]} */
  const found = [];
  /** @type {SqlToken[]} */
  let part = [];
  const close = () => {
    if (part.length) found.push({ text: text.slice(part[0].start, part[part.length - 1].end), start: part[0].start, tokens: part });
    part = [];
  };
  for (const token of tokens(text)) {
    if (token.kind === 'comment') continue;
    if (token.text === ';') close();
    else part.push(token);
  }
  close();
  return found;
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {{line: number, column: number}} both from 1
 */
export function place(text, at) {
  const before = text.slice(0, Math.max(0, Math.min(at, text.length)));
  const line = before.split('\n').length;
  return { line, column: at - before.lastIndexOf('\n') };
}

/**
 * @param {string} name
 * @returns {string} as an identifier that means exactly this
 */
export function quoteName(name) {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * @param {string} text
 * @returns {string} as a string literal
 */
export function quoteText(text) {
  return `'${text.replaceAll("'", "''")}'`;
}
