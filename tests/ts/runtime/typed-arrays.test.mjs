// Typed arrays with overridden properties: the real length, buffer and type are used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { convertPairing, load } from 'ropewalk';
import { assertSameBits, randomArray } from '../support/arrays.mjs';
import { run } from '../support/node.mjs';

const rw = await load({ simd: 'deterministic' });

const told = (name, value) =>
  class extends Float32Array {
    get [name]() {
      return value;
    }
  };
const owning = (array, name, value) => Object.defineProperty(array, name, { value });

// 64 numbers each, and a lie about them.
const liars = {
  'a smaller byteLength': () => new (told('byteLength', 64))(64),
  'a larger byteLength': () => new (told('byteLength', 2 ** 20))(64),
  'a smaller length': () => new (told('length', 16))(64),
  'a byteOffset': () => new (told('byteOffset', 4))(64),
  'another size of its numbers': () => owning(new Float32Array(64), 'BYTES_PER_ELEMENT', 1),
  'another buffer': () => new (told('buffer', new ArrayBuffer(1024)))(64),
  'a length of its own': () => owning(new Float32Array(64), 'length', 16),
  'copies of another length': () => {
    const Other = class extends Float32Array {
      slice() {
        return new Float32Array(1);
      }
      set() {}
    };
    return new Other(64);
  },
};

for (const [lie, make] of Object.entries(liars)) {
  test(`an array that tells ${lie} is taken for what it holds`, () => {
    const silu7 = rw.silu({ data: new Float32Array(64).fill(7), shape: [64] }).data[0];
    const held = Array.from({ length: 40 }, () => rw.tensor([16]));
    for (const one of held.filter((_, i) => i % 2 === 0)) one.dispose();
    const neighbours = held.filter((_, i) => i % 2 === 1);
    const data = make();
    Float32Array.prototype.fill.call(data, 7);

    const out = rw.silu({ data, shape: [64] });
    assertSameBits(out.data, new Float32Array(64).fill(silu7));
    const weighted = rw.rmsNorm({ data: new Float32Array(64).fill(2), shape: [64] }, { weight: data });
    assertSameBits(
      weighted.data,
      rw.rmsNorm(
        { data: new Float32Array(64).fill(2), shape: [64] },
        {
          weight: new Float32Array(64).fill(7),
        },
      ).data,
    );
    const made = rw.tensor([64], data);
    assertSameBits(made.data(), new Float32Array(64).fill(7));
    assert.throws(() => rw.silu({ data, shape: [16] }), RangeError);
    assert.throws(() => rw.tensor([16], data), { argument: 'data' });
    for (const one of neighbours) assertSameBits(one.data(), new Float32Array(16));
    for (const one of [made, ...neighbours]) one.dispose();
  });
}

test('weights are read from what an array holds', () => {
  const sizes = { modelDim: 8, heads: 2 };
  const query = Float32Array.from({ length: 64 }, (_, i) => i / 64 - 0.5);
  const layerOf = (array) =>
    rw.attentionLayer({ ...sizes, weights: { query: array, key: query, value: query, output: query } });
  const x = randomArray([3, 8]);
  const wanted = layerOf(query).forward(x).out.data;
  for (const [lie, make] of Object.entries(liars)) {
    const data = make();
    Float32Array.prototype.set.call(data, query);
    assertSameBits(layerOf(data).forward(x).out.data, wanted, lie);
  }
});

test('results go to the memory of out, whatever it tells', () => {
  const plan = rw.rope({ headDim: 4 });
  const x = randomArray([16, 4]);
  const wanted = plan.rotate(x, { offset: 3 }).data;
  for (const [lie, make] of Object.entries(liars)) {
    const out = make();
    plan.rotate(x, { offset: 3, out });
    assertSameBits(new Float32Array(Float32Array.from({ length: 64 }, (_, i) => out[i])), wanted, lie);
  }
  plan.dispose();
});

test('an array of another kind is refused, whatever it is called', () => {
  const called = (Kind, name) =>
    class extends Kind {
      get [Symbol.toStringTag]() {
        return name;
      }
    };
  const short = new (called(Int16Array, 'Float32Array'))(64);
  assert.throws(() => rw.silu({ data: short, shape: [64] }), { name: 'ArgumentTypeError', argument: 'x.data' });
  assert.throws(() => rw.tensor([64], short), { name: 'ArgumentTypeError', argument: 'data' });
  const view = owning(new DataView(new ArrayBuffer(64)), Symbol.toStringTag, 'Float32Array');
  owning(view, 'length', 16);
  assert.throws(() => rw.silu({ data: view, shape: [16] }), { name: 'ArgumentTypeError', argument: 'x.data' });
  assert.throws(() => rw.t5Buckets(view), { name: 'ArgumentTypeError' });
  const options = { from: 'half', to: 'interleaved', headDim: 4 };
  assert.throws(() => convertPairing(view, options), { name: 'ArgumentTypeError' });
});

test('a list of positions is as long as what it holds', () => {
  const positions = owning(Float64Array.of(1, 2, 3), 'length', 2 ** 40);
  assert.deepEqual([...rw.t5Buckets(positions)], [...rw.t5Buckets([1, 2, 3])]);
});

// Saved bytes as what tells another length, another beginning or other numbers of itself.
const lyingBytes = (bytes) => {
  class Liar extends Uint8Array {
    get length() {
      return 3;
    }
    get byteLength() {
      return 3;
    }
    get byteOffset() {
      return 0;
    }
    *[Symbol.iterator]() {
      yield 1;
    }
    slice() {
      return new Uint8Array(1);
    }
  }
  const all = new Uint8Array(bytes.length + 8);
  all.set(bytes, 8);
  return new Liar(all.buffer, 8, bytes.length);
};

test('saved bytes are taken for what they hold', () => {
  const keys = randomArray([2, 3, 4], 1);
  const cache = rw.kvCache({ kvHeads: 2, headDim: 4 }).append(keys, keys);
  const saved = cache.save();
  const tagged = saved.slice(0);
  Object.defineProperty(tagged, Symbol.toStringTag, { value: 'Map' });
  const tensor = rw.tensor([saved.byteLength / 4], new Float32Array(saved));
  const { buffer, byteOffset } = tensor.view();
  const inHeap = new Uint8Array(buffer, byteOffset, saved.byteLength);
  for (const bytes of [lyingBytes(new Uint8Array(saved)), tagged, runInNewContext('b => b.slice(0)')(saved), inHeap]) {
    const restored = rw.restoreKvCache(bytes);
    assertSameBits(restored.keys().data, keys.data);
    restored.dispose();
  }
  assert.throws(() => rw.restoreKvCache({ [Symbol.toStringTag]: 'ArrayBuffer', byteLength: 8 }), TypeError);

  const state = rw.linearAttentionState({ headDim: 4, kvHeads: 2 });
  state.append(keys, keys, keys);
  const copy = rw.linearAttentionState({ headDim: 4, kvHeads: 2 }).restore(lyingBytes(state.save()));
  assert.equal(copy.tokens, 3);
  for (const each of [cache, tensor, state, copy]) each.dispose();
});

test('the end of the stack while a value is looked at is not taken for what is wrong with it', async () => {
  const program = `
const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
let isAtEnd = false;
const ending = (object, name) => {
  const { get, value } = Object.getOwnPropertyDescriptor(object, name);
  function real(...given) {
    if (isAtEnd) throw new RangeError('Maximum call stack size exceeded');
    return (get ?? value).apply(this, given);
  }
  Object.defineProperty(object, name, get ? { get: real } : { value: real });
};
ending(Array, 'isArray');
ending(ArrayBuffer.prototype, 'byteLength');
ending(typedArray, 'keys');
const { load } = await import('ropewalk');
const rw = await load();
const calls = [
  () => rw.tensor([2]),
  () => rw.restoreKvCache(new ArrayBuffer(8)),
  () => rw.silu({ data: new Float32Array(), shape: new Int32Array() }),
];
for (const call of calls) {
  isAtEnd = true;
  try { call(); } catch (error) { isAtEnd = false; console.log(error.name + ': ' + error.message); }
}`;
  const { stdout } = await run(['--input-type=module', '--eval', program]);
  assert.equal(stdout, 'RangeError: Maximum call stack size exceeded\n'.repeat(3));
});
