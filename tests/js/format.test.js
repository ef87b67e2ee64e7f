import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as format from '../../templates/js/format.js';

const cases = JSON.parse(readFileSync(new URL('../data/format_cases.json', import.meta.url), 'utf8'));
const special = { NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity };

for (const [name, list] of Object.entries(cases)) {
  test(`${name} writes what Python writes`, () => {
    const show = name === 'id' ? content => format.value(content, 'id') : format[name];
    for (const [content, text] of list) {
      const given = typeof content === 'string' && content in special ? special[content] : content;
      assert.equal(show(given), text, `${name}(${content})`);
    }
  });
}

test('undefined is as absent as null', () => {
  assert.equal(format.number(undefined), format.DASH);
});
