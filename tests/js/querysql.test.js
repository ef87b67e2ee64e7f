import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barrierOf, SAY } from '../../templates/js/query/barriers.js';
import { canMeet, conditionsOf } from '../../templates/js/query/conditions.js';
import { formatted, paintedLines } from '../../templates/js/query/paint.js';
import { analyse } from '../../templates/js/query/scopes.js';
import { place, quoteName, statements, tokens } from '../../templates/js/query/sql.js';
import { allTables, sqlType } from '../../templates/js/query/tables.js';
import { charOffset, troubleOf } from '../../templates/js/query/troubles.js';

const TABLES = allTables();

/** Mentions as text: `tokens step=3 row=5..`. */
function readings(sql) {
  return statements(sql).flatMap(({ tokens: list }) => analyse(list, TABLES).readings).map(({ table, conditions, limit }) => [
    table, ...conditions.map(({ column, values, low, high }) => `${column}=${values ? values.join('|') : `${low}..${high}`}`),
    ...(limit === null ? [] : [`limit ${limit}`])].join(' '));
}

function names(sql) {
  const [{ tokens: list }] = statements(sql);
  return analyse(list, TABLES).names;
}

function barrier(sql) {
  return barrierOf(statements(sql), TABLES);
}

test('text is cut into tokens whose places are those of the text', () => {
  const sql = `select "a ""b""", 'it''s', 1.5e3, x::int -- end\nfrom tokens /* open`;
  const found = tokens(sql);
  assert.deepEqual(found.map(token => token.kind), ['word', 'quoted', 'operator', 'string', 'operator', 'number', 'operator', 'word', 'operator', 'word', 'comment', 'word', 'word', 'comment']);
  assert.equal(found[1].name, 'a "b"');
  assert.equal(found[3].name, "it's");
  assert.ok(found.every(token => sql.slice(token.start, token.end) === token.text));
});

test('statements end at semicolons outside of strings and comments', () => {
  const found = statements("select ';' -- ; no\n; ; select 2;");
  assert.deepEqual(found.map(one => one.text), ["select ';'", 'select 2']);
  assert.deepEqual(place('ab\ncd', 4), { line: 2, column: 2 });
  assert.equal(quoteName('a"b'), '"a""b"');
});

test('tables are found by name and as a file, whatever the case', () => {
  assert.deepEqual(readings('select * from tokens'), ['tokens']);
  assert.deepEqual(readings(`SELECT * FROM 'Tokens.parquet' AS t`), ['tokens']);
  assert.deepEqual(readings('select 1 from main.samples, "groups" g'), ['samples', 'groups']);
  assert.deepEqual(readings('select steps, count(*) as tokens from mfu order by tokens'), ['mfu']);
  assert.deepEqual(readings('select * from range(3) samples'), []);
  assert.deepEqual(readings('summarize samples'), ['samples']);
  assert.deepEqual(readings('pivot samples on status using count(*)'), ['samples']);
});

test('conditions on steps choose what is read', () => {
  assert.deepEqual(readings('select * from tokens where step = 3'), ['tokens step=3']);
  assert.deepEqual(readings('select * from tokens where step in (1, 2) and not evaluation'), ['tokens step=1|2 evaluation=0']);
  assert.deepEqual(readings('select * from tokens where step between 2 and 4 and evaluation is true'), ['tokens step=2..4 evaluation=1']);
  assert.deepEqual(readings('select * from tokens where 5 <= step and step < 9'), ['tokens step=5..Infinity step=-Infinity..9']);
  assert.deepEqual(readings('select * from tokens where (step = 3 and row = -1)'), ['tokens step=3 row=-1']);
  assert.deepEqual(readings('select * from tokens where t.step = 3'), ['tokens']);
});

test('what is not certain reads everything', () => {
  for (const where of ['step = 3 or row = 1', 'not (step = 3)', 'step != 3', 'step = x', 'case when a and step = 3 and b then 1 end', 'step = 3 is null', 'coalesce(step, 3) = 3', 'step + 1 = 3', 'step in (select 3)']) {
    assert.deepEqual(readings(`select * from tokens where ${where}`).map(text => text.split(' ')[0]), ['tokens'], where);
    assert.deepEqual(readings(`select * from tokens where ${where}`)[0], 'tokens', where);
  }
});

test('joins carry a condition to the tables that share its column', () => {
  assert.deepEqual(readings('select 1 from samples s join tokens t using (step, row) where step = 1'), ['samples step=1', 'tokens step=1']);
  assert.deepEqual(readings('select 1 from samples s join tokens t using (row) where s.step = 1'), ['samples step=1', 'tokens']);
  assert.deepEqual(readings('select 1 from samples s left join tokens t on s.step = t.step and t.row > 2 where s.step = 1'), ['samples step=1', 'tokens step=1']);
  assert.deepEqual(readings('select 1 from samples s join tokens t on s.step = t.step or s.row = 1 where s.step = 1'), ['samples step=1', 'tokens']);
  assert.deepEqual(readings('select 1 from samples s asof join tokens t on s.row >= t.row where s.step = 1'), ['samples', 'tokens']);
  assert.deepEqual(readings('select 1 from samples, run where step = 1'), ['samples step=1', 'run']);
  assert.deepEqual(readings('select 1 from tokens t join samples s using (step, evaluation, row) join groups g using (step, evaluation, group_index) where step = 2 and not evaluation'),
    ['tokens step=2 evaluation=0', 'samples step=2 evaluation=0', 'groups step=2 evaluation=0']);
});

test('each part of a query has conditions of its own', () => {
  assert.deepEqual(readings('select * from (select * from tokens where step = 1) where row = 2'), ['tokens step=1']);
  assert.deepEqual(readings('select * from tokens where step = 1 union all select * from tokens'), ['tokens step=1', 'tokens']);
  assert.deepEqual(readings('with tokens as (select * from tokens where step = 1) select * from tokens'), ['tokens step=1']);
  assert.deepEqual(readings('select (select max(step) from steps) from run where t0 > 5'), ['run t0=5..Infinity', 'steps']);
  assert.deepEqual(readings("select unnest(['a', 'b']), struct_pack(a := [1]) from ((run))"), ['run']);
});

test('a limit reads no more than it needs, and only where any rows will do', () => {
  assert.deepEqual(readings('select * from tokens limit 10'), ['tokens limit 10']);
  assert.deepEqual(readings('select * from tokens where step = 1 limit 10 offset 5'), ['tokens step=1 limit 15']);
  for (const rest of ['where row = 1 limit 10', 'order by row limit 10', 'limit 10 %', 'group by all limit 10']) {
    assert.doesNotMatch(readings(`select * from tokens ${rest}`)[0], /limit/, rest);
  }
  assert.deepEqual(readings('select count(*) from tokens limit 10'), ['tokens']);
  assert.deepEqual(readings('describe tokens'), ['tokens limit 0']);
  assert.deepEqual(readings('explain select * from tokens'), ['tokens limit 0']);
});

test('only the columns that are named are needed', () => {
  assert.ok(names('select count(*), row * 2 from tokens').has('row'));
  for (const sql of ['select * from tokens', 'select t.* from tokens t', 'from tokens', 'select t from tokens t', 'select count(*) from samples natural join groups', "select columns('r.*') from samples", 'summarize samples', 'with a as (select 1) from tokens']) {
    assert.equal(names(sql), null, sql);
  }
});

test('conditions meet ranges', () => {
  const [{ conditions }] = [conditionsOf(tokens('row in (2, 9)'))];
  assert.equal(canMeet(conditions[0], [3, 8]), false);
  assert.equal(canMeet(conditions[0], [9, 9]), true);
});

test('what needs an extension, a file or the network is told before it is run', () => {
  const cases = [
    ["select * from read_parquet('a')", SAY.files], ["select json_extract(prompt, '$') from texts", SAY.json], ["select prompt->>'a' from texts", SAY.json],
    ["select '{}'::JSON", SAY.json], ["select cast(prompt as json) from texts", SAY.json], ['select current_date', SAY.today], ['select today()', SAY.today],
    ["select ts::timestamptz from metrics", SAY.zone], ["select utc(ts) at time zone 'x' from metrics", SAY.zone], ["select timezone('x', utc(1))", SAY.zone],
    ['install httpfs', SAY.extension], ['LOAD json', SAY.extension], ["attach 'a.db'", SAY.attach], ["copy run to 'x.csv'", SAY.copy],
    ["set memory_limit = '1GB'", SAY.settings], ['pragma version', SAY.settings], ["select * from 'https://a.b/c.parquet'", SAY.network], ["from 's3://a/b.parquet'", SAY.network],
  ];
  for (const [sql, message] of cases) assert.equal(barrier(sql)?.message, message, sql);
  assert.match(barrier("select * from 'mine.parquet'").message, /^mine\.parquet is no table of this report/);
  assert.equal(barrier("select\n  current_date").start, 9);
});

test('words that only look like it are let through', () => {
  for (const sql of ["select 'read_parquet(1)' from run", 'select json from (select 1 as json)', 'select x.current_date from x', "select * from 'tokens.parquet'", "select 'https://x' as link",
    "select date '2026-01-01'", 'select list_transform([1], x -> x + 1)', "select * from tokens where token_text = 'a.parquet'"]) {
    assert.equal(barrier(sql), null, sql);
  }
});

function trouble(said, text, start = 0) {
  return troubleOf(said, { text, start }, ['samples', 'tokens', 'groups']);
}

test('errors of the engine become sentences with a place', () => {
  const said = 'Binder Error: Referenced column "rewrd" not found in FROM clause!\nCandidate bindings: "reward", "row"\n\nLINE 2:   rewrd\n          ^';
  const found = trouble(said, 'select\n  rewrd\nfrom samples', 10);
  assert.equal(found.message, 'There is no column rewrd here. Near it: reward, row.');
  assert.equal(found.at, 10 + 'select\n  '.length);
  assert.ok(found.missingColumn);
  const parser = trouble('{"exception_type":"Parser","exception_message":"syntax error at or near \\"é\\"","position":"12"}', "select 'é' é");
  assert.deepEqual([parser.message, parser.at], ['Syntax error at or near "é".', 11]);
  assert.equal(trouble('Catalog Error: Table with name tokn does not exist!\nDid you mean "pg_enum"?', '').message, 'There is no table tokn. There are samples, tokens, groups.');
  assert.match(trouble('Catalog Error: Table with name phases does not exist!', '').message, /^This site does not hold the table phases/);
  assert.equal(trouble('Catalog Error: Table with name sampels does not exist!', '').message, 'There is no table sampels. Did you mean samples?');
  assert.equal(trouble('Catalog Error: Scalar Function with name nofunc does not exist!\nDid you mean "count"?', '').message, 'There is no function nofunc. Did you mean count?');
  assert.equal(charOffset('a€b', 4), 2);
});

test('a place in a long line that the engine cut is found again', () => {
  const line = `select ${'a_long_column_name, '.repeat(8)}nope from samples`;
  const at = line.indexOf('nope');
  const excerpt = `...${line.slice(at - 20, at + 20)}...`;
  const said = `Binder Error: x\n\nLINE 1: ${excerpt}\n${' '.repeat('LINE 1: '.length + 3 + 20)}^`;
  assert.equal(trouble(said, line).at, at);
});

test('missing extensions, memory and a dead engine are told apart', () => {
  const icu = "Extension Autoloading Error: An error occurred while trying to automatically install the required extension 'icu':\nLoading external extensions is disabled through configuration";
  assert.equal(trouble(icu, '').message, SAY.zone);
  assert.equal(trouble('Catalog Error: Scalar Function with name "json_extract" is not in the catalog, but it exists in the json extension.\n\nPlease try', '').message, SAY.json);
  assert.equal(trouble('Catalog Error: Table Function with name "read_parquet" is not in the catalog, but it exists in the parquet extension.', '').message, SAY.files);
  assert.match(trouble('Catalog Error: Scalar Function with name "st_x" is not in the catalog, but it exists in the spatial extension.', '').message, /^That needs the extension spatial\./);
  assert.equal(trouble('Permission Error: Loading external extensions is disabled through configuration', '').message, SAY.extension);
  assert.ok(trouble('Out of Memory Error: failed to allocate', '').broken);
  assert.ok(trouble('RuntimeError: function signature mismatch', '').broken);
});

test('painted lines are the text, and say what its words are', () => {
  const sql = "select max(x), 'a' -- note\nfrom runs where 1";
  const lines = paintedLines(sql);
  assert.equal(lines.map(line => line.map(piece => piece.text).join('')).join('\n'), sql);
  assert.deepEqual(lines[0].filter(piece => piece.kind).map(piece => [piece.text, piece.kind]), [['select', 'keyword'], ['max', 'function'], ["'a'", 'string'], ['-- note', 'comment']]);
});

test('a formatted query has its clauses on lines of their own and is otherwise the same', () => {
  const sql = "select a,b from (select 1 as a, 'x  y' as b from run where x=1) t join groups using(step) where a >= 1 and b is not null group by 1 order by 2 -- last\nlimit 3";
  const text = formatted(sql);
  assert.deepEqual(tokens(text).map(token => token.text), tokens(sql).map(token => token.text));
  assert.deepEqual(text.split('\n'), ['select a, b', 'from (', '  select 1 as a, \'x  y\' as b', '  from run', '  where x=1', ') t', 'join groups using(step)', 'where a >= 1 and b is not null', 'group by 1', 'order by 2', '-- last', 'limit 3']);
  assert.equal(formatted(text), text);
});

test('every column of the schema has a type in the engine', () => {
  for (const table of TABLES.values()) for (const { kind } of table.columns) assert.match(sqlType(kind), /^(BIGINT|DOUBLE|FLOAT|BOOLEAN|VARCHAR)(\[\])?$/);
  assert.ok(TABLES.get('trajectories').columns.some(column => column.name === 'step'));
  assert.ok(TABLES.has('token_texts'));
  assert.deepEqual([...allTables(['run']).keys()], ['run', 'token_texts']);
});
