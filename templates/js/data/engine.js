/**
 * The engine, compiled once; a worker can be started with it again and again.
 *
 * @param {ArrayBuffer} bytes as they came: gzip, or WebAssembly where a host has inflated it on the way
 * @returns {Promise<WebAssembly.Module>} rejects where the bytes are not the engine or this browser cannot run it
 */
export function compileEngine(bytes) {
  const head = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
  const whole = new Blob([bytes]).stream();
  const plain = head[0] === 0x1f && head[1] === 0x8b ? whole.pipeThrough(new DecompressionStream('gzip')) : whole;
  return WebAssembly.compileStreaming(new Response(plain, { headers: { 'Content-Type': 'application/wasm' } }));
}
