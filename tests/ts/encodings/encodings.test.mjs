// The list of encodings: the same as in the core, and each with the functions and properties that it names.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { encodings, load } from 'ropewalk';
import createCore from '../../../build/package/core.mjs';
import { Family } from '../../../build/package/enums.js';
import { fireParameters } from '../support/fire.mjs';

const rw = await load();

async function core() {
  const module = new WebAssembly.Module(readFileSync(new URL('../../../dist/core.wasm', import.meta.url)));
  return createCore({
    instantiateWasm(imports, receive) {
      WebAssembly.instantiate(module, imports).then(receive);
      return {};
    },
  });
}

test("the package's list is the core's registry", async () => {
  const listed = Object.entries(encodings).map(([name, { family }]) => `${name}:${Family[family]}`);
  const { allocate, encodingList, HEAPU8 } = await core();
  const text = allocate(4096);
  const list = new TextDecoder().decode(HEAPU8.subarray(text, text + encodingList(text)));
  assert.deepEqual(listed, list.trimEnd().split(' '));
});

test('every encoding has its function', () => {
  for (const [name, { call }] of Object.entries(encodings)) assert.equal(typeof rw[call], 'function', name);
});

// Options that make each encoding work on q, k, v of shape [1, 2, 3, 4].
const distances = { data: Float32Array.from({ length: 20 }, (_, i) => Math.sin(i)), shape: [5, 4] };
const positions = {
  rope: () => ({ plan: rw.rope({ headDim: 4 }) }),
  alibi: () => ({}),
  t5: () => ({ table: { data: Float32Array.from({ length: 64 }, (_, i) => Math.cos(i)), shape: [32, 2] } }),
  shaw: () => ({ keys: distances }),
  relative_key: () => ({ table: distances }),
  relative_key_query: () => ({ table: distances }),
  m3: () => ({ table: distances }),
  kerple: () => ({ r1: Float32Array.of(1, 2), r2: Float32Array.of(0.5, 1) }),
  fire: () => fireParameters(2),
  sandwich: () => ({}),
};

test('attention takes just the encodings that say so, and each changes its scores', () => {
  const x = { data: Float32Array.from({ length: 24 }, (_, i) => Math.sin(3 * i)), shape: [1, 2, 3, 4] };
  const scores = (position) => rw.attention(x, x, x, { position, returnScores: 'biased' }).scores.data;
  const plain = scores({ encoding: 'none' });
  for (const [encoding, { attention }] of Object.entries(encodings)) {
    if (!attention) {
      assert.throws(() => scores({ encoding }), { name: 'ArgumentRangeError', message: /position\.encoding/ });
      continue;
    }
    assert.notDeepEqual(scores({ encoding, ...positions[encoding]() }), plain, encoding);
  }
});
