// Layers with a KV cache: chunks of any size give the result of one call, and wrong caches are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import { notAChoice, outOfRange, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { fireParameters } from '../support/fire.mjs';
import { layerWeights } from '../support/layer-reference.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const eps = 2 ** -24;
const size = { modelDim: 16, heads: 4, kvHeads: 2, hiddenDim: 24 };
const norms = [
  ['attentionNorm', 16],
  ['feedForwardNorm', 16],
  ['queryNorm', 4],
  ['keyNorm', 4],
];
const weights = layerWeights(size, { norms });
const [batch, tokens, dim] = [2, 8, 16];
const x = randomArray([batch, tokens, dim], 5);
const piece = (first, count) => ({
  data: Float32Array.from(
    [0, 1].flatMap((b) => [...x.data.subarray((b * tokens + first) * dim, (b * tokens + first + count) * dim)]),
  ),
  shape: [batch, count, dim],
});
const rowsOf = (data, first, count) =>
  [0, 1].flatMap((b) => [...data.subarray((b * tokens + first) * dim, (b * tokens + first + count) * dim)]);
const splits = [[8], [1, 1, 1, 1, 4], [3, 5], [7, 1]];

await onEachBuild((rw) => {
  const encodings = {
    none: { encoding: 'none' },
    rope: { encoding: 'rope' },
    'interleaved rope': { encoding: 'rope', pairing: 'interleaved', scaling: { type: 'linear', factor: 2 } },
    xPos: { encoding: 'rope', xpos: { scaleBase: 512 } },
    alibi: { encoding: 'alibi' },
    relative_key: { encoding: 'relative_key', table: randomArray([31, 4], 7) },
    t5: { encoding: 't5', table: randomArray([8, 4], 7), numBuckets: 8, maxDistance: 6 },
    fire: { encoding: 'fire', ...fireParameters(4) },
  };
  test('a pass whose argument changes its cache while it is read is refused', () => {
    const layer = rw.decoderLayer({ ...size, weights });
    const cache = layer.kvCache({ batch });
    layer.forward(piece(0, 2), { cache });
    const next = piece(2, 1);
    let inner = 0;
    const mask = {
      shape: [1, 3],
      get data() {
        if (inner++ === 0) layer.forward(piece(0, 5), { cache });
        return new Uint8Array(3).fill(1);
      },
    };
    const refused = { name: 'StateError', message: /cache was changed/ };
    assert.throws(() => layer.forward(next, { cache, mask, capture: ['probabilities'] }), refused);
    assert.equal(cache.length, 7);
    layer.forward(next, { cache });
    assert.equal(cache.length, 8);
    cache.dispose();
    layer.dispose();
  });

  for (const [name, position] of Object.entries(encodings)) {
    test(`chunks of a layer with ${name} give the result of one call`, () => {
      const before = rw.memory();
      const layer = rw.decoderLayer({ ...size, weights, position });
      for (const offset of [0, 50]) {
        const whole = layer.forward(x, { offset }).out.data;
        const largest = Math.max(...whole.map(Math.abs));
        for (const split of splits) {
          const cache = layer.kvCache({ batch });
          for (const count of split) {
            const first = cache.length;
            const options = first === 0 ? { cache, offset } : { cache };
            const { out, captured } = layer.forward(piece(first, count), { ...options, capture: ['probabilities'] });
            assert.deepEqual(captured.probabilities.shape, [batch, 4, count, first + count]);
            assertClose(out.data, rowsOf(whole, first, count), 16 * eps * largest);
          }
          assert.deepEqual([cache.length, cache.nextPosition], [tokens, offset + tokens]);
          cache.dispose();
        }
      }
      layer.dispose();
      assert.deepEqual([rw.memory().usedBytes, rw.memory().liveObjects], [before.usedBytes, before.liveObjects]);
    });
  }

  test('an attention layer with sinusoids knows where its tokens stand', () => {
    const layer = rw.attentionLayer({ modelDim: 16, heads: 4, position: { encoding: 'sinusoidal' }, causal: true });
    const whole = layer.forward(x, { offset: 3 }).out.data;
    const cache = layer.kvCache({ batch });
    assertClose(layer.forward(piece(0, 5), { cache, offset: 3 }).out.data, rowsOf(whole, 0, 5), 16 * eps);
    assertClose(layer.forward(piece(5, 3), { cache }).out.data, rowsOf(whole, 5, 3), 16 * eps);
    cache.dispose();
    layer.dispose();
  });

  test('a cache in float16 changes a layer by what rounding explains', () => {
    const layer = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope' } });
    const whole = layer.forward(x).out.data;
    const cache = layer.kvCache({ batch, storage: 'float16' });
    assert.equal(cache.storage, 'float16');
    const parts = [layer.forward(piece(0, 5), { cache }).out, layer.forward(piece(5, 3), { cache }).out];
    const modelDim = whole.length / batch / tokens;
    const got = [0, 1].flatMap((b) =>
      parts.flatMap(({ data }) => [...data.subarray((b * data.length) / batch, ((b + 1) * data.length) / batch)]),
    );
    assert.equal(got.length, batch * tokens * modelDim);
    const most = whole.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    assertClose(Float32Array.from(got), whole, 2 ** -11 * 16 * most);
    assert.notDeepEqual(Float32Array.from(got), whole);
    cache.dispose();
    layer.dispose();
  });

  test('content and position are given for keys in a cache, whatever it keeps', () => {
    const layer = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope' } });
    const capture = ['q', 'k', 'qRotated', 'kRotated', 'content', 'position', 'raw'];
    const whole = layer.forward(x, { capture }).captured;
    for (const keys of ['rotated', 'unrotated']) {
      const cache = layer.kvCache({ batch, keys });
      layer.forward(piece(0, 5), { cache });
      const { captured } = layer.forward(piece(5, 3), { cache, capture });
      for (const name of ['q', 'qRotated', 'k', 'kRotated']) {
        const width = captured[name].data.length / batch / 3;
        const want = [0, 1].flatMap((b) => {
          const first = (b * tokens + 5) * width;
          return [...whole[name].data.subarray(first, first + 3 * width)];
        });
        assertSameBits(captured[name].data, Float32Array.from(want));
      }
      for (const name of ['content', 'position', 'raw']) {
        const want = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((head) => [
          ...whole[name].data.subarray((head * tokens + 5) * tokens, (head + 1) * tokens * tokens),
        ]);
        assertClose(captured[name].data, want, 32 * eps);
      }
      cache.dispose();
    }
    layer.dispose();
  });

  test('a mask reaches back to the keys of the cache', () => {
    const layer = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope' } });
    const data = Uint8Array.from({ length: batch * tokens }, (_, i) => (i % 5 === 2 ? 0 : 1));
    const whole = layer.forward(x, { mask: { data, shape: [batch, 1, 1, tokens] } }).out.data;
    const largest = Math.max(...whole.map(Math.abs));
    const cache = layer.kvCache({ batch });
    for (const [first, count] of [
      [0, 3],
      [3, 5],
    ]) {
      const keys = first + count;
      const some = Uint8Array.from([0, 1].flatMap((b) => [...data.subarray(b * tokens, b * tokens + keys)]));
      const mask = { data: some, shape: [batch, 1, 1, keys] };
      const { out } = layer.forward(piece(first, count), { cache, mask });
      assertClose(out.data, rowsOf(whole, first, count), 16 * eps * largest);
    }
    cache.dispose();
    layer.dispose();
  });

  test('a window of the cache is that of the layer', () => {
    const layer = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope' }, window: { left: 3 } });
    const whole = layer.forward(x).out.data;
    const largest = Math.max(...whole.map(Math.abs));
    const cache = layer.kvCache({ batch, window: { size: 4 } });
    for (const [first, count] of [
      [0, 3],
      [3, 1],
      [4, 1],
      [5, 3],
    ]) {
      const { out } = layer.forward(piece(first, count), { cache });
      assertClose(out.data, rowsOf(whole, first, count), 16 * eps * largest);
    }
    assert.ok(cache.length < tokens);
    cache.dispose();
    layer.dispose();
  });
});

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: 4 });
const layer = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope', plan } });
const cache = layer.kvCache({ batch });
layer.forward(piece(0, 3), { cache });
const healthy = layer.forward(piece(0, 3)).out.data;
const next = (options) => layer.forward(piece(3, 2), { cache, ...options });
const withCache = (make, call) => () => {
  const made = make();
  try {
    call(made);
  } finally {
    made.dispose();
  }
};
const other = (options) =>
  withCache(
    () => rw.kvCache({ batch, kvHeads: 2, headDim: 4, ...options }),
    (c) => next({ cache: c }),
  );
testAllRefusals(rw, 'forward with a cache', {
  cache: [
    [wrongType(null, 'null'), wrongType({}, 'an object'), wrongType(3, '3'), wrongType(plan, 'a RopePlan')],
    (value) => next({ cache: value }),
  ],
  offset: [[outOfRange(2), outOfRange(-5), outOfRange(2 ** 53 - 1)], (offset) => next({ offset })],
});
const turning = rw.encoderLayer({
  ...size,
  weights: layerWeights(size, { norms: norms.slice(0, 2) }),
  position: { encoding: 'rope', plan },
  turnValues: true,
});
const twoAxes = rw.rope({ headDim: 4, axes: { layout: 'sections', sections: [1, 1] } });
const image = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope', plan: twoAxes } });
testMisfits(rw, 'forward with a cache', {
  'another batch size': [RangeError, ['cache', 'batch', '1', '2'], other({ batch: 1, rope: { plan } })],
  'other heads': [RangeError, ['cache', 'kvHeads', '3', '2'], other({ kvHeads: 3, rope: { plan } })],
  'values of another size': [RangeError, ['cache', 'valueDim', '5', '4'], other({ valueDim: 5, rope: { plan } })],
  'a cache without a plan': [RangeError, ['cache', 'plan'], other({})],
  'a cache that is full': [RangeError, ['cache', 'room for 1', '2'], other({ capacity: 1, rope: { plan } })],
  'positions with a gap': [RangeError, ['positions[1]', '9'], () => next({ positions: [3, 9] })],
  'positions for each batch entry': [RangeError, 'positions', () => next({ positions: [3, 4, 3, 4] })],
  'scores of keys that may have left': [
    RangeError,
    ['capture', 'raw', 'window'],
    withCache(
      () => layer.kvCache({ batch, window: { size: 4 } }),
      (c) => next({ cache: c, capture: ['q', 'raw'] }),
    ),
  ],
  'a mask for keys that may have left': [
    RangeError,
    ['mask', 'window'],
    withCache(
      () => layer.kvCache({ batch, window: { size: 4 } }),
      (c) => next({ cache: c, mask: { data: [true], shape: [1] } }),
    ),
  ],
  'a mask of the new tokens only': [
    RangeError,
    ['mask', '5'],
    () => next({ mask: { data: new Uint8Array(4), shape: [2, 2] } }),
  ],
  'a disposed cache': [
    Error,
    'cache',
    () => {
      const gone = layer.kvCache({ batch });
      gone.dispose();
      next({ cache: gone });
    },
  ],
  'turned values': [
    RangeError,
    ['cache', 'turnValues'],
    withCache(
      () => layer.kvCache({ batch }),
      (c) => turning.forward(x, { cache: c }),
    ),
  ],
  'a cache of a layer that turns values': [Error, ['kvCache', 'turnValues'], () => turning.kvCache({ batch })],
  'tokens without places on their axes': [
    RangeError,
    ['positions', '2'],
    withCache(
      () => image.kvCache({ batch }),
      (c) => image.forward(x, { cache: c }),
    ),
  ],
  "a window that is not the layer's": [
    RangeError,
    ['cache', '4', '3'],
    () => {
      const narrow = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope', plan }, window: { left: 2 } });
      const wide = narrow.kvCache({ batch, window: { size: 4 } });
      try {
        narrow.forward(x, { cache: wide });
      } finally {
        wide.dispose();
        narrow.dispose();
      }
    },
  ],
});
testAllRefusals(rw, 'kvCache of a layer', {
  keys: [notAChoice, (keys) => layer.kvCache({ keys })],
  storage: [notAChoice, (storage) => layer.kvCache({ storage })],
});
testUnknownOptions(rw, 'kvCache of a layer', ['kvHeads', 'rope', 'format'], (options) => layer.kvCache(options));
testMisfits(rw, 'kvCache of a layer', {
  'a way to keep turned keys where nothing turns': [
    RangeError,
    'keys',
    () => {
      const plain = rw.decoderLayer({ ...size, weights });
      try {
        plain.kvCache({ keys: 'rotated' });
      } finally {
        plain.dispose();
      }
    },
  ],
});
test('after all that the cache is as it was, and the next tokens go on from it', () => {
  assert.deepEqual([cache.length, cache.nextPosition], [3, 3]);
  const whole = layer.forward(piece(0, 5)).out.data;
  const { out } = next();
  const largest = Math.max(...whole.map(Math.abs));
  for (const b of [0, 1]) {
    const want = whole.subarray((b * 5 + 3) * dim, (b * 5 + 5) * dim);
    assertClose(out.data.subarray(b * 2 * dim, (b + 1) * 2 * dim), want, 16 * eps * largest);
  }
  assertSameBits(layer.forward(piece(0, 3)).out.data, healthy);
});
