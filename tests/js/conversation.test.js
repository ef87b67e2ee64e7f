import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { entriesOf, toolsOffered } from '../../templates/js/sample/messages.js';

const CASES = JSON.parse(readFileSync(new URL('./conversation_cases.json', import.meta.url), 'utf8'));

for (const { name, messages, entries } of CASES) {
  test(`messages: ${name}`, () => {
    const shown = entriesOf(messages).map((entry) => ({
      role: entry.role,
      name: entry.name,
      callId: entry.callId,
      blocks: entry.blocks.map((block) => [block.kind, block.text, block.name, block.id, block.argument]),
    }));
    assert.deepEqual(shown, entries);
  });
}

test('the raw message keeps what was split', () => {
  const [entry] = entriesOf([{ role: 'assistant', content: '<think>a</think>b' }]);
  assert.ok(entry.raw.includes('<think>a</think>b'));
});

test('tools are read from the system prompt of a template', () => {
  const system = '# Tools\n<tools>\n{"type": "function", "function": {"name": "bash", "parameters": {"properties": {"cmd": {"type": "string"}}}}}\nnot json\n</tools>';
  const tools = toolsOffered(entriesOf([{ role: 'system', content: system }]));
  assert.deepEqual(tools.map(({ name, parameters }) => ({ name, parameters })), [{ name: 'bash', parameters: ['cmd: string'] }]);
  assert.deepEqual(toolsOffered(entriesOf([{ role: 'user', content: system }])), []);
});
