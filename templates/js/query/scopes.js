/**
 * Which tables a statement reads, with the conditions that hold for each and the columns that it names.
 *
 * What is not understood makes a query read more, never less.
 */

import { conditionsOf, conjuncts, depthsOf } from './conditions.js';
import { tableNamed } from './tables.js';

/** @typedef {import('./sql.js').SqlToken} SqlToken */
/** @typedef {import('./conditions.js').Condition} Condition */
/** @typedef {import('./tables.js').Table} Table */

/**
 * @typedef {object} Reading one mention of a table
 * @property {string} table
 * @property {SqlToken} token where it is named
 * @property {Condition[]} conditions all of them hold for every row that matters
 * @property {number | null} limit so many rows are enough, whichever they are; null: all that meet the conditions
 *
 * @typedef {object} Analysis
 * @property {Reading[]} readings
 * @property {Set<string> | null} names words that may be columns, in lower case; null: all columns
 */

const CLAUSES = new Set(['where', 'group', 'having', 'order', 'limit', 'qualify', 'window', 'offset', 'union', 'except', 'intersect', 'select', 'using_sample', 'fetch']);
const SET_WORDS = new Set(['union', 'except', 'intersect']);
const NO_ALIAS = new Set([...CLAUSES, 'join', 'left', 'right', 'full', 'inner', 'outer', 'cross', 'natural', 'asof', 'semi', 'anti', 'positional', 'on', 'using', 'as', 'pivot', 'unpivot', 'tablesample', 'lateral', 'with', 'returning', 'set', 'values']);
const WHOLE_WORDS = ['natural', 'columns', 'summarize', 'describe', 'show', 'pivot', 'unpivot', 'table', 'positional'];

/**
 * @param {SqlToken[]} statement without comments
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {Analysis}
 */
export function analyse(statement, tables) {
  const first = statement[0]?.name ?? '';
  const shadowed = commonTables(statement);
  /** @type {Reading[]} */
  const readings = [];
  const scopes = scopesOf(statement);
  const dry = ['describe', 'desc', 'show'].includes(first) || (first === 'explain' && statement[1]?.name !== 'analyze');
  for (const scope of scopes) readings.push(...readingsOf(scope, tables, shadowed));
  readings.push(...statementTables(statement, tables));
  if (dry) readings.forEach(reading => { reading.limit = 0; });
  const whole = dry || scopes.some(isFromFirst);
  return { readings, names: whole ? null : namesOf(statement, readings) };
}

/**
 * @param {SqlToken[]} statement
 * @returns {Map<string, number>} names defined by WITH, and where their definition ends
 */
function commonTables(statement) {
  const found = new Map();
  if (!statement.some(token => token.name === 'with')) return found;
  const depths = depthsOf(statement);
  statement.forEach((token, i) => {
    if (token.kind !== 'word' || token.name !== 'as') return;
    const open = statement.findIndex((other, at) => at > i && !['not', 'materialized'].includes(other.name));
    if (open < 0 || statement[open].text !== '(' || !['select', 'from', 'with', 'values', 'pivot'].includes(statement[open + 1]?.name)) return;
    const close = statement.findIndex((other, at) => at > open && other.text === ')' && depths[at] === depths[open]);
    found.set(statement[i - 1]?.name.toLowerCase() ?? '', close < 0 ? Infinity : statement[close].end);
  });
  return found;
}

/**
 * @param {SqlToken[]} part
 * @returns {SqlToken[][]} each SELECT with what stands at its own depth and deeper, outer ones first
 */
function scopesOf(part) {
  const depths = depthsOf(part);
  /** @type {SqlToken[][]} */
  const own = [[]];
  /** @type {SqlToken[][]} */
  const deeper = [];
  let open = -1;
  part.forEach((token, i) => {
    if (token.kind === 'word' && depths[i] === 0 && SET_WORDS.has(token.name)) own.push([]);
    else own[own.length - 1].push(token);
    if (depths[i] === 1 && open < 0) open = i;
    const closes = depths[i] === 1 && (token.text === ')' || token.text === ']' || token.text === '}');
    if (open >= 0 && (closes || i === part.length - 1)) {
      deeper.push(part.slice(open + 1, closes ? i : part.length));
      open = -1;
    }
  });
  return [...own, ...deeper.flatMap(scopesOf)];
}

/**
 * @typedef {object} Source one item of a FROM clause
 * @property {string} table '' for a subquery or a function
 * @property {string} alias in lower case
 * @property {SqlToken} token
 * @property {Set<string>} using columns by which it is joined to what stands before it
 */

/**
 * @param {SqlToken[]} scope
 * @param {ReadonlyMap<string, Table>} tables
 * @param {Map<string, number>} shadowed
 * @returns {Reading[]}
 */
function readingsOf(scope, tables, shadowed) {
  const depths = depthsOf(scope);
  const from = scope.findIndex((token, i) => depths[i] === 0 && token.kind === 'word' && token.name === 'from' && !inside(scope, i));
  if (from < 0) return [];
  const region = clause(scope, depths, from + 1);
  const named = (/** @type {SqlToken} */ token) => {
    const table = tableNamed(token.name, tables);
    return table && (shadowed.get(token.name.toLowerCase()) ?? Infinity) > token.start ? table : '';
  };
  const { sources, equal, certain } = sourcesOf(region, named);
  const where = scope.findIndex((token, i) => i > from && depths[i] === 0 && token.kind === 'word' && token.name === 'where');
  const { conditions, whole } = where < 0 ? { conditions: [], whole: true } : conditionsOf(clause(scope, depths, where + 1));
  const limit = whole && sources.length === 1 && conditions.every(one => one.column === 'step' || one.column === 'evaluation') ? limitOf(scope, depths) : null;
  return sources.filter(source => source.table).map(source => ({
    table: source.table,
    token: source.token,
    conditions: certain ? conditions.filter(one => holds(one, source, { sources, equal, tables })) : [],
    limit,
  }));
}

/**
 * @param {SqlToken[]} scope
 * @param {number} at of the word FROM
 * @returns {boolean} whether it belongs to IS DISTINCT FROM
 */
function inside(scope, at) {
  return scope[at - 1]?.name === 'distinct' && ['is', 'not'].includes(scope[at - 2]?.name);
}

/**
 * @param {SqlToken[]} scope
 * @param {number[]} depths
 * @param {number} start
 * @returns {SqlToken[]} up to the next clause
 */
function clause(scope, depths, start) {
  const end = scope.findIndex((token, i) => i >= start && depths[i] === 0 && token.kind === 'word' && CLAUSES.has(token.name));
  return scope.slice(start, end < 0 ? scope.length : end);
}

/**
 * @param {SqlToken[]} region of a FROM clause
 * @param {(token: SqlToken) => string} named table of a token, '' if it is none
 * @returns {{sources: Source[], equal: {column: string, aliases: [string, string]}[], certain: boolean}}
 *   equal: columns that ON compares; certain: no join is of a kind for which conditions say nothing
 */
function sourcesOf(region, named) {
  const depths = depthsOf(region);
  /** @type {Source[]} */
  const sources = [];
  /** @type {{column: string, aliases: [string, string]}[]} */
  const equal = [];
  let certain = true;
  let expects = true;
  for (let i = 0; i < region.length; i++) {
    const token = region[i];
    if (depths[i] === 0 && token.text === ',') expects = true;
    else if (depths[i] === 0 && token.kind === 'word' && token.name === 'join') expects = true;
    else if (depths[i] === 0 && token.kind === 'word' && (token.name === 'positional' || token.name === 'asof')) certain = false;
    else if (depths[i] === 0 && token.kind === 'word' && token.name === 'using' && region[i + 1]?.text === '(') {
      const close = region.findIndex((other, at) => at > i && other.text === ')');
      for (const one of region.slice(i + 2, close < 0 ? region.length : close)) if (one.text !== ',') sources[sources.length - 1]?.using.add(one.name.toLowerCase());
    } else if (depths[i] === 0 && token.kind === 'word' && token.name === 'on') {
      equal.push(...equalities(onRegion(region, depths, i + 1)));
    } else if (expects && !(token.kind === 'word' && token.name === 'lateral')) {
      expects = false;
      if (token.text === '(' && region[i + 1] && !['select', 'from', 'with', 'values', 'pivot', 'unpivot', 'table'].includes(region[i + 1].name)) {
        certain = false;
        const inner = sourcesOf(region.slice(i + 1, closing(region, depths, i)), named);
        sources.push(...inner.sources);
        i = closing(region, depths, i);
        continue;
      }
      const { end, table } = sourceAt(region, depths, i, named);
      const alias = aliasAt(region, end);
      sources.push({ table, token: region[end - 1], alias: alias || region[end - 1].name.toLowerCase(), using: new Set() });
      i = end - 1;
    }
  }
  return { sources, equal, certain };
}

/**
 * @param {SqlToken[]} region
 * @param {number[]} depths
 * @param {number} i of an item of FROM
 * @param {(token: SqlToken) => string} named
 * @returns {{end: number, table: string}} end: behind its last token
 */
function sourceAt(region, depths, i, named) {
  if (region[i].text === '(') return { end: closing(region, depths, i) + 1, table: '' };
  let last = i;
  while (region[last + 1]?.text === '.' && region[last + 2]) last += 2;
  if (region[last + 1]?.text === '(') return { end: closing(region, depths, last + 1) + 1, table: '' };
  const token = region[last];
  return { end: last + 1, table: token.kind === 'number' ? '' : named(token) };
}

/**
 * @param {SqlToken[]} region
 * @param {number[]} depths
 * @param {number} open
 * @returns {number} where it closes
 */
function closing(region, depths, open) {
  const found = region.findIndex((token, i) => i > open && depths[i] === depths[open] && (token.text === ')' || token.text === ']'));
  return found < 0 ? region.length - 1 : found;
}

/**
 * @param {SqlToken[]} region
 * @param {number} at
 * @returns {string} '' without an alias
 */
function aliasAt(region, at) {
  const token = region[at]?.name === 'as' ? region[at + 1] : region[at];
  if (!token || (token.kind !== 'word' && token.kind !== 'quoted')) return '';
  return token.kind === 'word' && NO_ALIAS.has(token.name) ? '' : token.name.toLowerCase();
}

/**
 * @param {SqlToken[]} region
 * @param {number[]} depths
 * @param {number} start
 * @returns {SqlToken[]} up to the next join or comma
 */
function onRegion(region, depths, start) {
  const ends = ['join', 'left', 'right', 'full', 'inner', 'cross', 'natural', 'asof', 'semi', 'anti', 'positional'];
  const end = region.findIndex((token, i) => i >= start && depths[i] === 0 && (token.text === ',' || (token.kind === 'word' && ends.includes(token.name) && region[i + 1]?.text !== '(')));
  return region.slice(start, end < 0 ? region.length : end);
}

/**
 * @param {SqlToken[]} on
 * @returns {{column: string, aliases: [string, string]}[]} of `a.step = b.step`
 */
function equalities(on) {
  const depths = depthsOf(on);
  if (on.some((token, i) => depths[i] === 0 && token.kind === 'word' && (token.name === 'or' || token.name === 'case'))) return [];
  return conjuncts(on, depths).flatMap(part => {
    const names = part.map(token => token.name.toLowerCase());
    const fits = part.length === 7 && names[1] === '.' && names[3] === '=' && names[5] === '.' && names[2] === names[6];
    return fits ? [{ column: names[2], aliases: /** @type {[string, string]} */ ([names[0], names[4]]) }] : [];
  });
}

/**
 * Whether a condition holds for a source: it is about it, or about one that it is joined to by that column.
 *
 * @param {Condition} condition
 * @param {Source} source
 * @param {{sources: Source[], equal: {column: string, aliases: [string, string]}[], tables: ReadonlyMap<string, Table>}} from sources in order
 * @returns {boolean}
 */
function holds({ qualifier, column }, source, { sources, equal, tables }) {
  if (qualifier === '') {
    return sources.length === 1 || merged(column, sources).includes(source) || owner(column, sources, tables) === source;
  }
  const reached = new Set([qualifier]);
  const together = merged(column, sources).map(one => one.alias);
  for (let size = 0; size !== reached.size;) {
    size = reached.size;
    if (together.some(alias => reached.has(alias))) together.forEach(alias => reached.add(alias));
    for (const { column: other, aliases } of equal) {
      if (other === column && aliases.some(alias => reached.has(alias))) aliases.forEach(alias => reached.add(alias));
    }
  }
  return reached.has(source.alias);
}

/**
 * @param {string} column
 * @param {Source[]} sources
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {Source | null} the only one that has such a column; null where that is not certain
 */
function owner(column, sources, tables) {
  if (sources.some(source => !source.table)) return null;
  const owners = sources.filter(source => tables.get(source.table)?.columns.some(one => one.name.toLowerCase() === column));
  return owners.length === 1 ? owners[0] : null;
}

/**
 * @param {string} column
 * @param {Source[]} sources
 * @returns {Source[]} those whose column of that name USING makes one: all up to the last that is joined by it
 */
function merged(column, sources) {
  const joined = sources.map(source => source.using.has(column));
  return joined.slice(1).every(one => one) && sources.length > 1 ? sources : [];
}

/**
 * @param {SqlToken[]} scope
 * @param {number[]} depths
 * @returns {number | null} rows that are enough where any will do
 */
function limitOf(scope, depths) {
  const words = scope.filter((token, i) => depths[i] === 0 && token.kind === 'word').map(token => token.name);
  if (['group', 'order', 'having', 'distinct', 'qualify', 'join', 'sample', 'tablesample', 'window'].some(word => words.includes(word))) return null;
  const select = scope.findIndex((token, i) => depths[i] === 0 && token.name === 'select');
  const from = scope.findIndex((token, i) => depths[i] === 0 && token.name === 'from');
  if (select < 0 || scope.slice(select, from).some(token => token.text === '(')) return null;
  const read = (/** @type {string} */ word) => {
    const at = scope.findIndex((token, i) => depths[i] === 0 && token.kind === 'word' && token.name === word);
    if (at < 0) return null;
    const end = scope[at + 2];
    return scope[at + 1]?.kind === 'number' && (!end || end.name === 'offset' || end.name === 'limit') ? Number(scope[at + 1].text) : NaN;
  };
  const limit = read('limit');
  const offset = read('offset') ?? 0;
  return limit === null || Number.isNaN(limit + offset) ? null : limit + offset;
}

/**
 * @param {SqlToken[]} statement
 * @param {ReadonlyMap<string, Table>} tables
 * @returns {Reading[]} of SUMMARIZE tokens, DESCRIBE tokens, PIVOT tokens
 */
function statementTables(statement, tables) {
  return statement.flatMap((token, i) => {
    const before = statement[i - 1];
    const table = before?.kind === 'word' && ['summarize', 'describe', 'desc', 'show', 'table', 'pivot', 'unpivot', 'pivot_wider', 'pivot_longer'].includes(before.name) ? tableNamed(token.name, tables) : null;
    return table && statement[i + 1]?.text !== '(' ? [{ table, token, conditions: [], limit: null }] : [];
  });
}

/**
 * @param {SqlToken[]} statement
 * @param {Reading[]} readings
 * @returns {Set<string> | null}
 */
function namesOf(statement, readings) {
  const words = statement.filter(token => token.kind === 'word').map(token => token.name);
  if (WHOLE_WORDS.some(word => words.includes(word))) return null;
  if (statement.some((_, i) => isStar(statement, i) || isWholeRow(statement, i, readings))) return null;
  return new Set(statement.filter(token => token.kind === 'word' || token.kind === 'quoted').map(token => token.name.toLowerCase()));
}

/** @param {SqlToken[]} list @param {number} i @returns {boolean} whether a star means all columns */
function isStar(list, i) {
  if (list[i].text !== '*') return false;
  const before = list[i - 1];
  if (before?.text === '(') return list[i + 1]?.text !== ')';
  return !before || [',', '.'].includes(before.text) || (before.kind === 'word' && ['select', 'distinct', 'all'].includes(before.name)) || (before.text === ')' && list[i + 1]?.name === 'from');
}

/** @param {SqlToken[]} scope @returns {boolean} whether a query begins with FROM, which selects all */
function isFromFirst(scope) {
  const depths = depthsOf(scope);
  const words = scope.map((token, i) => (depths[i] === 0 && token.kind === 'word' ? token.name : ''));
  const from = words.indexOf('from');
  const select = words.indexOf('select');
  return from >= 0 && (select < 0 || from < select) && ['from', 'with', 'all', 'by', 'create', 'explain', 'insert'].includes(words[0]);
}

/**
 * @param {SqlToken[]} list
 * @param {number} i
 * @param {Reading[]} readings
 * @returns {boolean} whether a table is used as a value, which has all its columns
 */
function isWholeRow(list, i, readings) {
  const token = list[i];
  if (token.kind !== 'word' && token.kind !== 'quoted') return false;
  if (list[i + 1]?.text === '.' || list[i - 1]?.text === '.' || readings.some(reading => reading.token === token)) return false;
  const aliases = readings.map(reading => aliasOf(list, reading));
  const from = list[i - 1]?.name === 'as' || readings.some(reading => list[i - 1] === reading.token);
  return !from && aliases.includes(token.name.toLowerCase());
}

/** @param {SqlToken[]} list @param {Reading} reading @returns {string} */
function aliasOf(list, reading) {
  const at = list.indexOf(reading.token);
  return aliasAt(list, at + 1) || reading.token.name.toLowerCase();
}
