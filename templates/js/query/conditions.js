/**
 * Conditions of a WHERE clause that say which slices a query can need.
 *
 * Only what is certain is understood: conjuncts that compare one column with numbers. Everything else is left to the engine,
 * which filters in any case; a condition that is not understood only makes the query read more.
 */

/** @typedef {import('./sql.js').SqlToken} SqlToken */

/**
 * @typedef {object} Condition
 * @property {string} qualifier alias or table before the dot, in lower case; '' without one
 * @property {string} column in lower case
 * @property {number} low
 * @property {number} high
 * @property {number[] | null} values the only ones, where they are listed; booleans are 0 and 1
 */

/**
 * @param {SqlToken[]} region what stands between WHERE and the next clause, at one depth of parentheses or deeper
 * @returns {{conditions: Condition[], whole: boolean}} whole: every conjunct was understood
 */
export function conditionsOf(region) {
  const depths = depthsOf(region);
  const top = region.filter((_, i) => depths[i] === 0).map(token => token.name);
  if (top.includes('or') || top.includes('case')) return { conditions: [], whole: false };
  const parts = conjuncts(region, depths);
  const found = parts.map(part => inner(part) ?? [conditionOf(part)]).flat();
  const conditions = found.filter(one => one !== null);
  return { conditions, whole: conditions.length === found.length };
}

/**
 * @param {SqlToken[]} region
 * @returns {number[]} parentheses and brackets open around each token; those themselves count as inside
 */
export function depthsOf(region) {
  let depth = 0;
  return region.map(token => {
    const opens = token.text === '(' || token.text === '[' || token.text === '{';
    const closes = token.text === ')' || token.text === ']' || token.text === '}';
    if (opens) depth += 1;
    const mine = depth;
    if (closes) depth -= 1;
    return mine;
  });
}

/**
 * @param {SqlToken[]} region
 * @param {number[]} depths
 * @returns {SqlToken[][]}
 */
export function conjuncts(region, depths) {
  /** @type {SqlToken[][]} */
  const parts = [[]];
  let between = 0;
  region.forEach((token, i) => {
    const word = token.kind === 'word' && depths[i] === 0 ? token.name : '';
    if (word === 'between') between += 1;
    if (word === 'and' && between === 0) {
      parts.push([]);
      return;
    }
    if (word === 'and') between -= 1;
    parts[parts.length - 1].push(token);
  });
  return parts.filter(part => part.length);
}

/**
 * @param {SqlToken[]} part
 * @returns {(Condition | null)[] | null} of a conjunct that is wholly in parentheses; null if it is not
 */
function inner(part) {
  const depths = depthsOf(part);
  const wrapped = part.length > 2 && part[0].text === '(' && depths.every((depth, i) => depth > 0 && (depth > 1 || i === 0 || i === part.length - 1 || part[i].text !== ')'));
  if (!wrapped || part[1].name === 'select' || part.some(token => token.text === ',')) return null;
  const { conditions, whole } = conditionsOf(part.slice(1, -1));
  return whole ? conditions : [...conditions, null];
}

/**
 * @param {SqlToken[]} part one conjunct
 * @returns {Condition | null} null: not understood
 */
export function conditionOf(part) {
  const negated = part[0]?.kind === 'word' && part[0].name === 'not';
  const rest = negated ? part.slice(1) : part;
  const left = reference(rest);
  if (left) {
    const condition = tested(left, rest.slice(left.length), negated);
    if (condition) return condition;
  }
  const flipped = negated ? null : swapped(rest);
  return flipped ? compared(flipped.left, flipped.op, flipped.value) : null;
}

/**
 * @typedef {{qualifier: string, column: string, length: number}} Reference length: tokens
 */

/**
 * @param {SqlToken[]} part
 * @returns {Reference | null}
 */
function reference(part) {
  const [first, dot, second] = part;
  if (!first || !isName(first)) return null;
  if (dot?.text !== '.') return { qualifier: '', column: first.name.toLowerCase(), length: 1 };
  if (!second || !isName(second)) return null;
  return { qualifier: first.name.toLowerCase(), column: second.name.toLowerCase(), length: 3 };
}

/** @param {SqlToken} token @returns {boolean} */
function isName(token) {
  return token.kind === 'word' || token.kind === 'quoted';
}

/**
 * @param {Reference} left
 * @param {SqlToken[]} rest behind it
 * @param {boolean} negated
 * @returns {Condition | null}
 */
function tested(left, rest, negated) {
  const names = rest.map(token => token.name);
  const bool = truth(names);
  if (bool !== null) return listed(left, [Number(negated ? !bool : bool)]);
  if (negated) return null;
  if (names[0] === 'between') {
    const and = names.indexOf('and');
    const low = numberOf(rest.slice(1, and));
    const high = numberOf(rest.slice(and + 1));
    return and < 0 || low === null || high === null ? null : { ...bare(left), low, high, values: null };
  }
  if (names[0] === 'in' && rest[1]?.text === '(' && rest[rest.length - 1].text === ')') {
    const values = listOf(rest.slice(2, -1));
    return values ? listed(left, values) : null;
  }
  const value = numberOf(rest.slice(1));
  return value === null ? null : compared(left, rest[0].text, value);
}

/**
 * @param {string[]} names what stands behind a column
 * @returns {boolean | null} what the column must be; null where the words do not say
 */
function truth(names) {
  const text = names.join(' ');
  if (text === '' || text === 'is true' || text === '= true' || text === '== true') return true;
  if (text === 'is false' || text === '= false' || text === '== false') return false;
  return null;
}

/**
 * @param {Reference} left
 * @param {string} op
 * @param {number} value
 * @returns {Condition | null}
 */
function compared(left, op, value) {
  if (op === '=' || op === '==') return listed(left, [value]);
  if (op === '<' || op === '<=') return { ...bare(left), low: -Infinity, high: value, values: null };
  if (op === '>' || op === '>=') return { ...bare(left), low: value, high: Infinity, values: null };
  return null;
}

/**
 * @param {SqlToken[]} part a number, an operator, a column
 * @returns {{left: Reference, op: string, value: number} | null}
 */
function swapped(part) {
  const sign = part[0]?.text === '-' ? 1 : 0;
  const value = numberOf(part.slice(0, sign + 1));
  const left = reference(part.slice(sign + 2));
  if (value === null || !left || left.length !== part.length - sign - 2) return null;
  const op = part[sign + 1].text;
  const flips = /** @type {Record<string, string>} */ ({ '<': '>', '<=': '>=', '>': '<', '>=': '<=' });
  return { left, op: flips[op] ?? op, value };
}

/**
 * @param {SqlToken[]} part
 * @returns {number | null}
 */
function numberOf(part) {
  const sign = part[0]?.text === '-' ? -1 : 1;
  const [token, ...more] = sign < 0 ? part.slice(1) : part;
  if (!token || more.length || token.kind !== 'number') return null;
  return sign * Number(token.text.replaceAll('_', ''));
}

/**
 * @param {SqlToken[]} part between the parentheses of IN
 * @returns {number[] | null}
 */
function listOf(part) {
  /** @type {SqlToken[][]} */
  const items = [[]];
  for (const token of part) {
    if (token.text === ',') items.push([]);
    else items[items.length - 1].push(token);
  }
  const values = items.map(numberOf);
  return values.every(value => value !== null) ? /** @type {number[]} */ (values) : null;
}

/** @param {Reference} left @returns {{qualifier: string, column: string}} */
function bare({ qualifier, column }) {
  return { qualifier, column };
}

/**
 * @param {Reference} left
 * @param {number[]} values
 * @returns {Condition}
 */
function listed(left, values) {
  return { ...bare(left), low: Math.min(...values), high: Math.max(...values), values };
}

/**
 * Whether values between two bounds can meet a condition.
 *
 * @param {Condition} condition
 * @param {[number, number]} range
 * @returns {boolean}
 */
export function canMeet({ low, high, values }, [least, most]) {
  if (values) return values.some(value => least <= value && value <= most);
  return least <= high && low <= most;
}
