// The position encodings of attention, each against float64 with grouped heads, a batch, a mask and causal order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { attention } from '../support/attention-reference.mjs';
import {
  notABoolean,
  notAChoice,
  notAnInteger,
  notAShape,
  notFloats,
  notOptions,
  notPositions,
  required,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import {
  B,
  buckets,
  D,
  Dv,
  dot,
  encodings,
  H,
  k,
  keeps,
  keyAt,
  mask,
  narrow,
  q,
  queryAt,
  reference,
  Tk,
  Tq,
  t5Table,
  table,
  v,
} from '../support/position-reference.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';
import { frequencies, rotate } from '../support/rope-reference.mjs';

const last = 2 ** 53 - 1;
// Values up to 2 where Shaw's table adds to them; scores of T5, with scale 1, up to a few units.
const tolerance = 96 * 2 ** -24;

const ways = [
  { options: {}, wanted: {} },
  { options: { causal: true }, wanted: { causalOffset: Tk - Tq } },
  { options: { mask }, wanted: { keeps } },
  { options: { causal: true, mask }, wanted: { causalOffset: Tk - Tq, keeps } },
];

const swapped = ({ data, shape }) => ({
  data: swapHeadsAndTokens(data, shape),
  shape: [shape[0], shape[2], shape[1], shape[3]],
});

await onEachBuild((rw) => {
  for (const [name, { position, scale, fixed, expected }] of Object.entries(encodings)) {
    for (const queryOffset of fixed ? [undefined] : [undefined, 0, -4, 9]) {
      const at = queryOffset === undefined ? {} : { queryOffset };
      const where = queryOffset === undefined ? 'the last query at the last key' : `queries from ${queryOffset} on`;
      test(`attention with ${name} is that of float64, ${where}`, () => {
        const terms = { scale, ...expected(queryOffset ?? Tk - Tq) };
        for (const { options, wanted } of ways) {
          const call = { ...options, ...(scale && { scale }), ...at, position };
          const causal = wanted.causalOffset !== undefined && { causalOffset: queryOffset ?? Tk - Tq };
          const want = reference(terms, { ...wanted, ...causal });
          const got = rw.attention(q, k, v, { ...call, returnScores: 'probabilities' });
          assertClose(got.out.data, want.out, tolerance);
          assertClose(got.scores.data, want.scores, tolerance);
          assertClose(rw.attention(q, k, v, call).out.data, want.out, tolerance);
          if (call.mask) continue;
          const [first, ...others] = [q, k, v].map(swapped);
          const { out } = rw.attention(first, ...others, { ...call, layout: 'BTHD' });
          assert.deepEqual(out.shape, [B, Tq, H, Dv]);
          assertClose(swapHeadsAndTokens(out.data, [B, Tq, H, Dv]), want.out, tolerance);
        }
      });
    }

    test(`raw scores with ${name} have the relative terms, and no bias`, () => {
      const { raw = () => 0, bias = () => 0 } = expected(Tk - Tq);
      const by = scale ?? 1 / Math.sqrt(D);
      const call = { position, ...(scale && { scale }) };
      const scores = (returnScores) => rw.attention(q, k, v, { ...call, returnScores }).scores.data;
      const each = (f) =>
        Array.from({ length: B * H * Tq * Tk }, (_, n) => {
          const row = Math.floor(n / Tk);
          return f(Math.floor(row / Tq / H), Math.floor(row / Tq) % H, row % Tq, n % Tk);
        });
      const product = (b, h, i, j) => by * (dot(queryAt(b, h, i), keyAt(b, h, j)) + raw(b, h, i, j));
      assertClose(scores('raw'), each(product), tolerance);
      assertClose(
        scores('biased'),
        each((...n) => product(...n) + bias(...n)),
        tolerance,
      );
    });

    test(`tensors give the same bits with ${name}, and nothing given is changed`, () => {
      const made = [];
      const tensorOf = ({ data, shape }) => made[made.push(rw.tensor(shape, data)) - 1];
      const entries = Object.entries(position);
      const tensors = Object.fromEntries(entries.map(([key, x]) => [key, x.data ? tensorOf(x) : x]));
      const before = entries.map(([, x]) => x.data?.slice());
      const want = rw.attention(q, k, v, { position, causal: true }).out.data;
      const { out } = rw.attention(...[q, k, v].map(tensorOf), { position: tensors, causal: true });
      assertSameBits(out.data(), want);
      assertSameBits(rw.attention(q, k, v, { position: tensors, causal: true }).out.data, want);
      entries.forEach(([key, x], i) => {
        if (!x.data) return;
        assertSameBits(x.data, before[i]);
        assertSameBits(tensors[key].data(), before[i]);
      });
      [q, k, v].forEach(({ shape, data }, i) => {
        assertSameBits(data, randomArray(shape, i + 1).data);
      });
      for (const tensor of [...made, out]) tensor.dispose();
    });
  }

  const places = [
    ['by default, the last query at the last key', {}, [2, 3, 4], [0, 1, 2, 3, 4]],
    ['at offsets', { queries: 100, keys: -7 }, [100, 101, 102], [-7, -6, -5, -4, -3]],
    ['at lists', { queries: [9, 0, 1000], keys: Int32Array.of(5, 5, 0, 2, 999) }, [9, 0, 1000], [5, 5, 0, 2, 999]],
    [
      'far away',
      { queries: last - 2, keys: last - 6 },
      [last - 2, last - 1, last],
      [6, 5, 4, 3, 2].map((d) => last - d),
    ],
  ];
  for (const [what, given, queries, keys] of places) {
    test(`attention with rope is that of float64 on turned copies, ${what}`, () => {
      for (const pairing of ['half', 'interleaved']) {
        const plan = rw.rope({ headDim: D, pairing, base: 50 });
        const turn = (x, positions) => ({
          ...x,
          data: rotate(x, { frequencies: frequencies(D, 50), positions: [positions, positions], pairing }).data,
        });
        const position = { encoding: 'rope', plan, ...given };
        for (const { options, wanted } of ways) {
          const want = attention(turn(q, queries), turn(k, keys), v, wanted);
          const got = rw.attention(q, k, v, { ...options, position, returnScores: 'probabilities' });
          assertClose(got.out.data, want.out, tolerance);
          assertClose(got.scores.data, want.scores, tolerance);
          if (options.mask) continue;
          const { out } = rw.attention(...[q, k, v].map(swapped), { ...options, position, layout: 'BTHD' });
          assertClose(swapHeadsAndTokens(out.data, [B, Tq, H, Dv]), want.out, tolerance);
        }
        plan.dispose();
      }
    });
  }

  test('rope may stand elsewhere in each batch entry, with a factor', () => {
    const plan = rw.rope({
      headDim: D,
      scaling: { type: 'yarn', factor: 4, originalLength: 64, attentionFactor: 1.5 },
    });
    const [queries, keys] = [Int32Array.of(3, 4, 5, 90, 7, 8), [0, 1, 2, 3, 4, 80, 81, 82, 83, 84]];
    const got = rw.attention(q, k, v, { position: { encoding: 'rope', plan, queries, keys } });
    const [turnedQ, turnedK] = [plan.rotate(q, { positions: queries }), plan.rotate(k, { positions: keys })];
    assertClose(got.out.data, attention(turnedQ, turnedK, v).out, tolerance);
    plan.dispose();
  });

  test('rope gives what attention gives of q and k that the plan turned, and leaves q and k alone', () => {
    const plan = rw.rope({ headDim: D });
    const position = { encoding: 'rope', plan };
    const want = rw.attention(plan.rotate(q, { offset: 2 }), plan.rotate(k), v, { causal: true }).out.data;
    assertSameBits(rw.attention(q, k, v, { position, causal: true }).out.data, want);
    const tensors = [q, k, v].map(({ shape, data }) => rw.tensor(shape, data));
    const { out } = rw.attention(...tensors, { position, causal: true });
    assertSameBits(out.data(), want);
    [q, k, v].forEach(({ data, shape }, i) => {
      assertSameBits(tensors[i].data(), data);
      assertSameBits(data, randomArray(shape, i + 1).data);
      tensors[i].dispose();
    });
    const x = rw.tensor([1, 2, 4, D], random(8 * D, 9));
    const same = rw.attention(x, x, x, { position });
    assertSameBits(x.data(), random(8 * D, 9));
    for (const object of [out, x, same.out, plan]) object.dispose();
  });
});

const rw = await load({ simd: 'deterministic' });
const other = await load({ simd: 'deterministic' });
const attend = (position) => rw.attention(q, k, v, { position });
const plan = rw.rope({ headDim: D });
const disposedPlan = rw.rope({ headDim: D });
disposedPlan.dispose();
const disposed = rw.tensor(table.shape);
disposed.dispose();
const foreign = other.tensor(table.shape);

testAllRefusals(rw, 'attention', {
  // A list has no encoding either.
  position: [notOptions.filter(({ shows }) => shows !== undefined), attend],
  'position.encoding': [required(notAChoice), (encoding) => attend({ encoding })],
  'position.plan': [required(notOptions), (plan) => attend({ encoding: 'rope', plan })],
  'position.queries': [
    notPositions(Tq).filter(({ value }) => value !== 1),
    (queries) => attend({ encoding: 'rope', plan, queries }),
  ],
  'position.keys': [
    notPositions(Tk).filter(({ value }) => value !== 1),
    (keys) => attend({ encoding: 'rope', plan, keys }),
  ],
});
const rest = {
  t5: { table: t5Table, ...buckets },
  shaw: { keys: narrow[0] },
  relative_key: { table },
  relative_key_query: { table },
  m3: { table },
};
for (const [encoding, more] of Object.entries(rest)) {
  const [field] = Object.keys(more);
  const { shape, data } = more[field];
  const name = encoding === 't5' ? field : `position.${field}`;
  const withField = (value) => attend({ encoding, ...more, [field]: value });
  testAllRefusals(rw, `attention with ${encoding}`, {
    [name]: [required(notOptions), withField],
    [`${name}.data`]: [required(notFloats(data.length)).slice(0, -2), (bad) => withField({ data: bad, shape })],
    [`${name}.shape`]: [notAShape, (bad) => withField({ data, shape: bad })],
  });
  testUnknownOptions(rw, `attention with ${encoding}`, ['nonsense', 'offset', 'plan', 'constructor'], (unknown) =>
    attend({ encoding, ...more, ...unknown }),
  );
  const odd = encoding === 't5' ? [9, H] : [6, D];
  testMisfits(rw, `attention with ${encoding}`, {
    'a table with another number of rows': [
      RangeError,
      [name, `[${odd.join(', ')}]`],
      () => withField(randomArray(odd)),
    ],
    'a table of another width': [RangeError, [name, '7'], () => withField(randomArray([shape[0], 7]))],
    'a table of one axis': [RangeError, [name, `[${data.length}]`], () => withField({ data, shape: [data.length] })],
    'a table of three axes': [RangeError, [name, '[1, '], () => withField({ data, shape: [1, ...shape] })],
    'a table of another instance': [StateError, [name, 'instance'], () => withField(foreign)],
    'a disposed table': [StateError, [name, 'disposed'], () => withField(disposed)],
  });
}
for (const encoding of ['relative_key', 'relative_key_query', 'm3']) {
  testAllRefusals(rw, `attention with ${encoding}`, {
    'position.sign': [notAChoice, (sign) => attend({ encoding, table, sign })],
  });
  test(`${encoding} with a table turned round is ${encoding} that counts from query to key`, () => {
    const [rows, width] = table.shape;
    const rowAt = (i) => table.data.subarray(i * width, (i + 1) * width);
    const turned = new Float32Array(table.data.length);
    for (let i = 0; i < rows; ++i) turned.set(rowAt(rows - 1 - i), i * width);
    const other = attend({ encoding, table: { data: turned, shape: table.shape }, sign: 'key-minus-query' });
    const { out } = attend({ encoding, table });
    assertSameBits(other.out.data, out.data);
    assertSameBits(attend({ encoding, table, sign: 'query-minus-key' }).out.data, out.data);
    assert.notDeepEqual(attend({ encoding, table, sign: 'key-minus-query' }).out.data, out.data);
  });
}
for (const encoding of ['none', 'alibi']) {
  testUnknownOptions(rw, `attention with ${encoding}`, ['nonsense', 'table', 'keys', 'constructor'], (unknown) =>
    attend({ encoding, ...unknown }),
  );
}
testUnknownOptions(rw, 'attention with rope', ['nonsense', 'queryOffset', 'offset'], (unknown) =>
  attend({ encoding: 'rope', plan, ...unknown }),
);
const t5 = (more) => attend({ encoding: 't5', ...rest.t5, ...more });
testAllRefusals(rw, 'attention with t5', {
  bidirectional: [notABoolean, (bidirectional) => t5({ bidirectional })],
  numBuckets: [notAnInteger({ min: 4, max: 2 ** 16 }), (numBuckets) => t5({ numBuckets })],
  maxDistance: [notAnInteger({ min: 3, max: 2 ** 31 }), (maxDistance) => t5({ maxDistance })],
});
const rope = (more) => attend({ encoding: 'rope', plan, ...more });
const bertCase = (encoding, rows, queryOffset) => () =>
  rw.attention(q, k, v, {
    position: { encoding, table: randomArray([rows, D]) },
    ...(queryOffset !== undefined && { queryOffset }),
  });
testMisfits(rw, 'attention', {
  'a plan of another head size': [
    RangeError,
    ['position.plan', '4', '8'],
    () => {
      const small = rw.rope({ headDim: 4 });
      try {
        rope({ plan: small });
      } finally {
        small.dispose();
      }
    },
  ],
  'a disposed plan': [StateError, ['position.plan', 'disposed'], () => rope({ plan: disposedPlan })],
  'a plan of another instance': [
    StateError,
    ['position.plan', 'instance'],
    () => rope({ plan: other.rope({ headDim: D }) }),
  ],
  'places of too few queries': [RangeError, ['position.queries', '2', '3'], () => rope({ queries: [1, 2] })],
  'places of too many keys': [RangeError, ['position.keys', '6', '5'], () => rope({ keys: new Int32Array(6) })],
  'a last query beyond 2^53 - 1': [RangeError, ['position.queries', `${last - 1}`], () => rope({ queries: last - 1 })],
  'half a place': [RangeError, ['position.keys', '0.5'], () => rope({ keys: 0.5 })],
  'an odd number of buckets for two directions': [RangeError, ['numBuckets', '9'], () => t5({ numBuckets: 9 })],
  'values of another width': [
    RangeError,
    ['position.values', '[5, 8]', '6'],
    () => attend({ ...rest.shaw, encoding: 'shaw', values: randomArray([5, D]) }),
  ],
  'values of another largest distance': [
    RangeError,
    ['position.values', '7', '5'],
    () => attend({ ...rest.shaw, encoding: 'shaw', values: randomArray([7, Dv]) }),
  ],
  ...Object.fromEntries(
    ['relative_key', 'relative_key_query', 'm3'].flatMap((encoding) => [
      [`${encoding} without a row for every key`, [RangeError, ['position.table', '3', '4'], bertCase(encoding, 7)]],
      [`${encoding} with queries too far on`, [RangeError, ['position.table', '11'], bertCase(encoding, 21, 9)]],
      [`${encoding} with queries too far back`, [RangeError, ['position.table', '14'], bertCase(encoding, 21, -10)]],
    ]),
  ),
});

const one = { data: Float32Array.of(1), shape: [1, 1] };
const threeQueries = { data: new Float32Array(3).fill(1), shape: [3, 1] };
const atTheEnd = (position, more) =>
  rw.attention(threeQueries, one, one, { keyPositions: [last], queryOffset: last, position, scale: 1, ...more });
const oneHead = { data: new Float32Array(32), shape: [32, 1] };
for (const position of [
  { encoding: 'alibi' },
  { encoding: 't5', table: oneHead },
  { encoding: 'm3', table: randomArray([5, 1]) },
]) {
  testMisfits(rw, `attention with ${position.encoding} at the last positions`, {
    'queries that pass 2^53 - 1': [RangeError, ['queryOffset', String(last), '2^53 - 1'], () => atTheEnd(position)],
    'queries that pass 2^53 - 1 in one batch entry': [
      RangeError,
      ['queryOffset', String(last - 1)],
      () => atTheEnd(position, { queryOffset: [last - 1] }),
    ],
    'a default that passes -(2^53 - 1)': [
      RangeError,
      ['queryOffset', '2^53 - 1'],
      () => atTheEnd(position, { queryOffset: undefined, keyPositions: [-last] }),
    ],
  });
  test(`attention with ${position.encoding} takes queries up to 2^53 - 1`, () => {
    assert.equal(atTheEnd(position, { queryOffset: last - 2 }).out.data.length, 3);
  });
}
testMisfits(rw, 'attention with alibi', {
  'distances beyond 2^53 - 1': [
    RangeError,
    ['queryOffset', 'apart'],
    () => atTheEnd({ encoding: 'alibi' }, { queryOffset: last - 2, keyPositions: [-last] }),
  ],
});

// Ten keys, and a table for distances up to 2.
const ten = randomArray([1, 10, 4]);
const short = randomArray([5, 4]);
const long = randomArray([19, 4]);
short.data.set(long.data.subarray(7 * 4, 12 * 4));
const visibilities = {
  'a causal window': { causal: true, window: { left: 2 } },
  'a window on both sides': { window: { left: 1, right: 2 } },
  'a window among keys with gaps': {
    causal: true,
    keyPositions: Array.from({ length: 10 }, (_, i) => 100 * i),
    queryOffset: 400,
    window: { left: 8 },
    queries: 3,
  },
  'padding and causal order': { keyLengths: [3], causal: true, queryOffset: 0, queries: 3 },
};
for (const encoding of ['relative_key', 'relative_key_query', 'm3']) {
  const over = ({ queries = 10, ...options }, table, more) => {
    const q = { data: ten.data.subarray(0, queries * 4), shape: [1, queries, 4] };
    return rw.attention(q, ten, ten, { ...options, position: { encoding, table }, ...more });
  };
  for (const [name, options] of Object.entries(visibilities)) {
    test(`${encoding} needs rows for the keys that ${name} leaves visible, and no others`, () => {
      for (const returnScores of ['biased', 'probabilities']) {
        const given = over(options, short, { returnScores });
        if (options.keyPositions !== undefined) continue; // which would need a long table of its own
        const wanted = over(options, long, { returnScores });
        assertSameBits(given.out.data, wanted.out.data);
        assertSameBits(given.scores.data, wanted.scores.data);
      }
      for (const stage of ['position', 'raw', 'capped']) {
        assert.throws(() => over(options, short, { returnScores: ['biased', stage] }), { argument: 'position.table' });
      }
    });
  }
  testMisfits(rw, `attention with ${encoding}`, {
    'a window wider than the table': [
      RangeError,
      ['position.table', 'up to 2', 'needs 3'],
      () => over({ causal: true, window: { left: 3 } }, short),
    ],
    'sink tokens farther away than the table reaches': [
      RangeError,
      ['position.table', 'needs 9'],
      () => over({ causal: true, window: { left: 2 }, sinkTokens: 1 }, short),
    ],
    'keys behind a window on the left': [
      RangeError,
      ['position.table', 'needs 9'],
      () => over({ window: { left: 1 } }, short),
    ],
  });
}

test('t5 is bidirectional unless attention is causal, as encoders and decoders are', () => {
  const table = { data: Float32Array.from({ length: 32 }, (_, i) => i), shape: [32, 1] };
  const q = { data: new Float32Array(64), shape: [1, 64, 1] };
  const biasAt = (options, more) =>
    rw.attention(q, q, q, { ...options, position: { encoding: 't5', table, ...more }, returnScores: 'biased' }).scores
      .data[63 * 64 + 33];
  assert.deepEqual(
    [
      biasAt({}),
      biasAt({ causal: true }),
      biasAt({ causal: true }, { bidirectional: undefined }),
      biasAt({ causal: true }, { bidirectional: true }),
    ],
    [11, 20, 20, 11],
  );
});
