// `out`, the caller's tensor for a result, in every call that accepts it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { load, StateError } from 'ropewalk';
import { assertSameBits, detached, random, randomArray, sizeOf } from '../support/arrays.mjs';
import { outOfRange, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { fireParameters } from '../support/fire.mjs';
import { testMisfits, testRefusals } from '../support/refusals.mjs';

const other = await load({ simd: 'deterministic' });

// What each call reads, by name, x or q first; how it is called with these; the shape of its result. `over`: the first
// may be `out`. Sizes are such that as many operands as can be have the shape of the result.
function callsOf(rw) {
  const sizes = { modelDim: 8, heads: 2, position: { encoding: 'rope' } };
  const weights = Object.fromEntries(
    Object.entries({ query: [8, 8], key: [8, 8], value: [8, 8], output: [8, 8], up: [8, 8], down: [8, 8] }).map(
      ([name, shape], i) => [name, randomArray(shape, i + 20)],
    ),
  );
  const norms = Object.fromEntries(
    ['attentionNorm', 'feedForwardNorm'].map((name, i) => [name, { data: random(8, i + 40), shape: [8] }]),
  );
  const layerOptions = { ...sizes, hiddenDim: 8, weights: { ...weights, ...norms } };
  const plan = rw.rope({ headDim: 4 });
  const attentionLayer = rw.attentionLayer({ ...sizes, seed: 3 });
  const sinusoidal = rw.attentionLayer({ ...sizes, position: { encoding: 'sinusoidal' } });
  const encoder = rw.encoderLayer(layerOptions);
  const decoder = rw.decoderLayer(layerOptions);
  const parallel = rw.decoderLayer({ ...layerOptions, norms: 'parallel' });
  const cacheOf = () => rw.kvCache({ kvHeads: 2, headDim: 4 });
  const x = randomArray([3, 8], 1);
  const heads = (seed) => randomArray([2, 4, 4], seed);
  const qkv = { q: heads(1), k: heads(2), v: heads(3) };
  const forward = (layer) => ({
    operands: { x },
    shape: [3, 8],
    over: true,
    run: ({ x }, options) => layer.forward(x, options).out,
  });
  return {
    gelu: { operands: { x }, shape: [3, 8], over: true, run: ({ x }, options) => rw.gelu(x, options) },
    silu: { operands: { x }, shape: [3, 8], over: true, run: ({ x }, options) => rw.silu(x, options) },
    softmax: { operands: { x }, shape: [3, 8], over: true, run: ({ x }, options) => rw.softmax(x, options) },
    layerNorm: {
      operands: { x: randomArray([8], 1), weight: randomArray([8], 2), bias: randomArray([8], 3) },
      shape: [8],
      over: true,
      run: ({ x, ...rest }, options) => rw.layerNorm(x, { ...rest, ...options }),
    },
    rmsNorm: {
      operands: { x: randomArray([8], 1), weight: randomArray([8], 2) },
      shape: [8],
      over: true,
      run: ({ x, ...rest }, options) => rw.rmsNorm(x, { ...rest, ...options }),
    },
    embed: {
      operands: { table: x },
      shape: [3, 8],
      run: ({ table }, options) => rw.embed(table, [2, 0, 1], options),
    },
    attention: {
      operands: { ...qkv, bias: heads(4) },
      shape: [2, 4, 4],
      run: ({ q, k, v, bias }, options) => rw.attention(q, k, v, { causal: true, bias, ...options }).out,
    },
    'attention with rope': {
      operands: qkv,
      shape: [2, 4, 4],
      run: ({ q, k, v }, options) => rw.attention(q, k, v, { position: { encoding: 'rope', plan }, ...options }).out,
    },
    'attention with a table': {
      operands: Object.fromEntries(['q', 'k', 'v', 'keys'].map((name, i) => [name, randomArray([3, 4], i + 1)])),
      shape: [3, 4],
      run: ({ q, k, v, keys }, options) => {
        const position = { encoding: 'shaw', keys };
        return rw.attention(q, k, v, { position, ...options }).out;
      },
    },
    'cache.attend': {
      operands: { q: qkv.q },
      shape: [2, 4, 4],
      run: ({ q }, options) => {
        const cache = cacheOf();
        try {
          return cache.append(qkv.k, qkv.v).attend(q, options).out;
        } finally {
          cache.dispose();
        }
      },
    },
    linearAttention: {
      operands: qkv,
      shape: [2, 4, 4],
      run: ({ q, k, v }, options) => rw.linearAttention(q, k, v, options).out,
    },
    'linearAttentionState.append': {
      operands: qkv,
      shape: [2, 4, 4],
      run: ({ q, k, v }, options) => {
        const state = rw.linearAttentionState({ headDim: 4, kvHeads: 2 });
        try {
          return state.append(q, k, v, options).out;
        } finally {
          state.dispose();
        }
      },
    },
    recurrentAttention: {
      operands: { ...qkv, decay: heads(6) },
      shape: [2, 4, 4],
      run: ({ q, k, v, decay }, options) => {
        const { out, state } = rw.recurrentAttention(q, k, v, { updateRule: 'gated', decay, ...options });
        state.dispose?.();
        return out;
      },
    },
    'attentionLayer.forward': forward(attentionLayer),
    'attentionLayer.forward with sinusoids': forward(sinusoidal),
    'encoderLayer.forward': forward(encoder),
    'decoderLayer.forward': forward(decoder),
    'decoderLayer.forward, parallel': forward(parallel),
  };
}

const tensorsOf = (rw, operands) =>
  Object.fromEntries(Object.entries(operands).map(([name, { data, shape }]) => [name, rw.tensor(shape, data)]));
const disposeAll = (tensors) => {
  for (const tensor of Object.values(tensors)) tensor.dispose();
};

await onEachBuild((rw) => {
  for (const [name, { operands, shape, over, run }] of Object.entries(callsOf(rw))) {
    const size = sizeOf(shape);
    const [first] = Object.keys(operands);
    const want = run(operands, {});

    test(`${name} writes to an array of the caller's, and nowhere beside it`, () => {
      assert.deepEqual(want.shape, shape);
      for (const inputs of [operands, tensorsOf(rw, operands)]) {
        const around = new Float32Array(size + 2).fill(7);
        const out = around.subarray(1, size + 1);
        const got = run(inputs, { out });
        assert.equal(got.data, out);
        assert.deepEqual(got.shape, shape);
        assertSameBits(around, [7, ...want.data, 7]);
        if (inputs !== operands) disposeAll(inputs);
      }
    });

    test(`${name} writes to a tensor of the caller's, and takes no memory for the result`, () => {
      const out = rw.tensor(shape);
      for (const inputs of [operands, tensorsOf(rw, operands)]) {
        out.set(new Float32Array(size).fill(7));
        const { usedBytes, liveObjects } = rw.memory();
        assert.equal(run(inputs, { out }), out);
        assertSameBits(out.data(), want.data);
        assert.deepEqual([rw.memory().usedBytes, rw.memory().liveObjects], [usedBytes, liveObjects]);
        if (inputs !== operands) disposeAll(inputs);
      }
      out.dispose();
    });

    test(`${name} takes the array of an argument as its result`, () => {
      for (const [argument, { data, shape: given }] of Object.entries(operands)) {
        if (data.length !== size) continue;
        const copy = data.slice();
        run({ ...operands, [argument]: { data: copy, shape: given } }, { out: copy });
        assertSameBits(copy, want.data);
      }
    });

    for (const argument of Object.keys(operands)) {
      const may = over && argument === first;
      test(`${name} ${may ? 'writes over' : 'refuses to write over'} a tensor given as ${argument}`, () => {
        const inputs = tensorsOf(rw, operands);
        const out = inputs[argument];
        const { data, shape: given } = operands[argument];
        const { usedBytes, liveObjects } = rw.memory();
        if (may) {
          assert.equal(run(inputs, { out }), out);
          assertSameBits(out.data(), want.data);
        } else {
          const fits = given.join() === shape.join();
          const problem = fits ? `${argument}, which is read while the result is written` : 'out has shape';
          assert.throws(
            () => run(inputs, { out }),
            (error) => error.name === 'ArgumentRangeError' && error.message.includes(problem),
          );
          assertSameBits(out.data(), data);
        }
        assert.deepEqual([rw.memory().usedBytes, rw.memory().liveObjects], [usedBytes, liveObjects]);
        disposeAll(inputs);
      });
    }

    const wide = rw.tensor([size + 1]);
    const turned = rw.tensor([...shape, 1]);
    const foreign = other.tensor(shape);
    const gone = rw.tensor(shape);
    gone.dispose();
    testRefusals(
      rw,
      name,
      'out',
      [
        ...[wrongType(null, 'null'), wrongType({ data: want.data, shape }, 'an object'), wrongType(1, '1')],
        ...[wrongType(new Float64Array(size), 'Float64Array'), wrongType([...want.data], undefined, 'a plain array')],
        wrongType(detached(new Float32Array(size)), '', 'a detached array'),
        outOfRange(new Float32Array(size - 1), String(size - 1), 'a shorter array'),
        outOfRange(new Float32Array(size + 1), String(size + 1), 'a longer array'),
        outOfRange(wide, `[${size + 1}]`, 'a longer tensor'),
        outOfRange(turned, `[${shape.join(', ')}]`, 'a tensor of another shape'),
        { value: foreign, error: StateError, shows: 'another instance', label: "another instance's tensor" },
        { value: gone, error: StateError, shows: 'disposed', label: 'a disposed tensor' },
      ],
      (out) => run(operands, { out }),
    );
    testMisfits(rw, name, {
      'a view of its own memory as out': [
        RangeError,
        ['out', 'heap'],
        () => {
          const tensor = rw.tensor(shape);
          try {
            run(operands, { out: tensor.view() });
          } finally {
            tensor.dispose();
          }
        },
      ],
    });
  }

  const bias = { queries: 2, keys: 5 };
  const tables = {
    sinusoidal: [[2, 10], (more) => rw.sinusoidal({ dim: 10, positions: [5, 9], ...more })],
    alibiBias: [[2, 2, 5], (more) => rw.alibiBias({ heads: 2, ...bias, ...more })],
    t5Bias: [[2, 2, 5], (more) => rw.t5Bias({ table: randomArray([32, 2], 1), ...bias, ...more })],
    kerpleBias: [
      [2, 2, 5],
      (more) => rw.kerpleBias({ r1: Float32Array.of(1, 2), r2: Float32Array.of(0.5, 1), ...bias, ...more }),
    ],
    sandwichBias: [[2, 2, 5], (more) => rw.sandwichBias({ heads: 2, ...bias, ...more })],
    fireBias: [[2, 2, 5], (more) => rw.fireBias({ ...fireParameters(2), ...bias, ...more })],
  };
  for (const [name, [shape, run]] of Object.entries(tables)) {
    test(`${name} writes its table to an array or a tensor [${shape.join(', ')}]`, () => {
      const size = sizeOf(shape);
      const want = run({}).data ?? run({});
      const array = new Float32Array(size);
      const inArray = run({ out: array });
      assert.equal(inArray.data ?? inArray, array);
      assertSameBits(array, want);
      const tensor = rw.tensor(shape);
      const { usedBytes } = rw.memory();
      assert.equal(run({ out: tensor }), tensor);
      assert.equal(rw.memory().usedBytes, usedBytes);
      assertSameBits(tensor.data(), want);
      const short = {
        name: 'ArgumentRangeError',
        message: new RegExp(`out has ${size - 1} numbers; expected ${size}`),
      };
      assert.throws(() => run({ out: array.subarray(1) }), short);
      const flat = rw.tensor([size]);
      assert.throws(() => run({ out: flat }), { name: 'ArgumentRangeError', argument: 'out' });
      tensor.dispose();
      flat.dispose();
    });
  }

  test('other results of a call come as they did', () => {
    const q = randomArray([2, 4, 4], 1);
    const out = rw.tensor([2, 4, 4]);
    const array = new Float32Array(32);
    const plain = rw.attention(q, q, q, { returnScores: 'probabilities' });
    const mixed = rw.attention(q, q, q, { returnScores: 'probabilities', out });
    assert.equal(mixed.out, out);
    assertSameBits(mixed.scores.data, plain.scores.data);
    const x = rw.tensor(q.shape, q.data);
    const { denominators, out: attended } = rw.linearAttention(x, x, x, { returnDenominators: true, out: array });
    assert.equal(attended.data, array);
    assert.deepEqual(denominators.shape, [1, 2, 4]);
    assert.equal(denominators.data().length, 8);
    for (const tensor of [out, x, denominators]) tensor.dispose();
  });

  test('a layer that writes over x captures what one with a result of its own does', () => {
    const layer = rw.attentionLayer({ modelDim: 8, heads: 2, seed: 1 });
    const given = randomArray([3, 8], 1);
    const capture = ['q', 'probabilities', 'context'];
    const want = layer.forward(given, { capture });
    const x = rw.tensor(given.shape, given.data);
    const { out, captured } = layer.forward(x, { capture, out: x });
    assert.equal(out, x);
    assertSameBits(x.data(), want.out.data);
    for (const name of capture) {
      assertSameBits(captured[name].data(), want.captured[name].data);
      captured[name].dispose();
    }
    x.dispose();
    layer.dispose();
  });
});

test('an array of another realm, of a subclass, or over shared memory is written to', () => {
  const x = randomArray([2, 4], 1);
  const want = other.softmax(x).data;
  class Sub extends Float32Array {
    set() {
      throw new Error('called');
    }
    get length() {
      return 3;
    }
  }
  const outs = [runInNewContext('new Float32Array(8)'), new Sub(8), new Float32Array(new SharedArrayBuffer(32))];
  for (const out of outs) {
    assert.equal(other.softmax(x, { out }).data, out);
    assertSameBits(
      Float32Array.from({ length: 8 }, (_, i) => out[i]),
      want,
    );
  }
});

test('a tensor that a getter of another argument disposes of is refused', () => {
  const out = other.tensor([4]);
  const x = {
    get data() {
      out.dispose();
      return new Float32Array(4);
    },
    shape: [4],
  };
  assert.throws(() => other.softmax(x, { out }), StateError);
});
