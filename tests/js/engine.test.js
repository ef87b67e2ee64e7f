import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { compileEngine } from '../../templates/js/data/engine.js';

/** The smallest module: magic and version. */
const EMPTY = Uint8Array.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);

test('the engine is compiled from gzip, and from what a host has inflated on the way', async () => {
  for (const bytes of [EMPTY, Uint8Array.from(gzipSync(EMPTY))]) {
    assert.ok(await compileEngine(bytes.buffer.slice(0, bytes.byteLength)) instanceof WebAssembly.Module);
  }
});

test('what is no engine is refused', async () => {
  await assert.rejects(compileEngine(new TextEncoder().encode('<!doctype html>').buffer));
  await assert.rejects(compileEngine(new ArrayBuffer(0)));
});
