// Typed arrays that tell less or more of themselves than they hold: what counts is what they are by their own making.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convertPairing, load } from 'ropewalk';
import { assertSameBits, randomArray } from './support/arrays.mjs';

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
