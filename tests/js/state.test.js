import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concatFrames, rowOf, takeRows, whereRows } from '../../templates/js/data/frame.js';
import { latest, param } from '../../templates/js/state/param.js';
import { changedSearch, createUrlState } from '../../templates/js/state/url.js';
import { csv } from '../../templates/js/ui/download.js';
import { place } from '../../templates/js/ui/place.js';
import { nextRow, rowsBetween } from '../../templates/js/ui/table.js';
import { nextTab } from '../../templates/js/ui/tabs.js';

test('a query string keeps its order and its other keys', () => {
  assert.equal(changedSearch('?step=1&row=2', { row: '3' }), '?step=1&row=3');
  assert.equal(changedSearch('?step=1&row=2', { step: null }), '?row=2');
  assert.equal(changedSearch('?a=1', { a: null }), '');
  assert.equal(changedSearch('', { filter: 'reward<0.5 text:"a, b"', sort: 'x,y' }), '?filter=reward%3C0.5+text:%22a,+b%22&sort=x,y');
});

test('state round-trips through the address and the back button', () => {
  const host = fakeWindow();
  const url = createUrlState(host);
  let told = 0;
  const off = url.onChange(() => { told += 1; });
  url.set({ filter: 'a & b="</script>"' }, { push: true });
  assert.equal(url.get('filter'), 'a & b="</script>"');
  url.set({ filter: 'a & b="</script>"' });
  assert.equal(told, 1);
  host.back();
  assert.equal(url.get('filter', 'none'), 'none');
  assert.equal(told, 2);
  off();
  url.set({ x: '1' });
  assert.equal(told, 2);
});

function fakeWindow() {
  const target = new EventTarget();
  const entries = ['/page.html'];
  const location = {
    get pathname() { return entries.at(-1).split('?')[0]; },
    get search() { return entries.at(-1).includes('?') ? `?${entries.at(-1).split('?')[1]}` : ''; },
    hash: '',
  };
  return {
    location,
    addEventListener: target.addEventListener.bind(target),
    history: { pushState: (_, __, address) => entries.push(address), replaceState: (_, __, address) => entries.splice(-1, 1, address) },
    back() {
      entries.pop();
      target.dispatchEvent(new Event('popstate'));
    },
  };
}

test('a param tells only of changes', () => {
  const seen = [];
  const shared = param(1);
  const off = shared.subscribe(value => seen.push(value));
  shared.set(1);
  shared.set(2);
  off();
  shared.set(3);
  assert.deepEqual(seen, [2]);
  assert.equal(shared.get(), 3);
});

test('only the newest of overlapping tasks is heard', async () => {
  const doors = [];
  const heard = [];
  const ask = latest(() => new Promise(resolve => doors.push(resolve)), value => heard.push(value), () => heard.push('failed'));
  ask(1);
  ask(2);
  doors[1]('new');
  doors[0]('old');
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(heard, ['new']);
});

const FRAME = {
  length: 3,
  names: ['row', 'text'],
  columns: { row: new Float64Array([4, 5, 5]), text: ['plain', 'with, "comma"\nand line', null] },
};

test('CSV quotes what needs it and leaves absent values empty', () => {
  assert.equal(csv(FRAME), 'row,text\r\n4,plain\r\n5,"with, ""comma""\nand line"\r\n5,\r\n');
  assert.equal(csv(FRAME, ['text'], [2, 0]), 'text\r\n\r\nplain\r\n');
  assert.equal(csv({ length: 1, names: ['v'], columns: { v: [['a', 'b']] } }), 'v\r\n"[""a"",""b""]"\r\n');
});

test('frames are filtered, taken and joined without losing types', () => {
  assert.deepEqual([...whereRows(FRAME, { row: 5 }).columns.text], ['with, "comma"\nand line', null]);
  assert.equal(whereRows(FRAME, { missing: 5 }).length, 0);
  const taken = takeRows(FRAME, [2, 0]);
  assert.ok(taken.columns.row instanceof Float64Array);
  assert.deepEqual(rowOf(taken, 1), { row: 4, text: 'plain' });
  const joined = concatFrames([FRAME, { length: 1, names: ['row'], columns: { row: new Float64Array([9]) } }]);
  assert.deepEqual([...joined.columns.row], [4, 5, 5, 9]);
  assert.deepEqual(joined.columns.text[3], null);
  assert.deepEqual(concatFrames([]), { length: 0, names: [], columns: {} });
});

test('a box goes below its anchor, above where there is more room, and never over it', () => {
  const frame = { width: 400, height: 300 };
  const high = { left: 10, right: 60, top: 10, bottom: 38 };
  assert.equal(place(high, { width: 100, height: 100 }, frame).top, 42);
  const low = { left: 350, right: 390, top: 250, bottom: 278 };
  const above = place(low, { width: 100, height: 100 }, frame);
  assert.equal(above.top + 100, 246);
  assert.equal(above.left, 292);
  const tall = place(low, { width: 100, height: 900 }, frame);
  assert.ok(tall.top >= 0 && tall.top + tall.height <= 250);
});

test('rows in view come with a margin and stay inside the table', () => {
  assert.deepEqual(rowsBetween(0, 280, 1000), { first: 0, last: 24 });
  const { first, last } = rowsBetween(28 * 500, 280, 1000);
  assert.ok(first <= 488 && last >= 522 && last - first < 60);
  assert.deepEqual(rowsBetween(28 * 5000, 280, 10), { first: 10, last: 10 });
});

test('keys lead to rows and tabs', () => {
  assert.deepEqual(['ArrowDown', 'ArrowUp', 'Home', 'End', 'x'].map(key => nextRow(key, 0, 5)), [1, 0, 0, 4, null]);
  assert.deepEqual(['ArrowRight', 'ArrowLeft', 'End', 'x'].map(key => nextTab(key, 2, 3)), [0, 1, 2, null]);
});
