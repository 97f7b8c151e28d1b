// Each operation as ONNX graphs, in every form for which onnxruntime has an operator; the bench uses the fastest. A
// form is { form, nodes, data (the caller's inputs), constants, outputs: { name: rank }, arrange (converts a result to
// the bench's order) }.
import { frequency } from '../reference.mjs';

const ms = 'com.microsoft';

const int64 = (...values) => ({ data: BigInt64Array.from(values, BigInt), shape: [values.length] });
const int32 = (value, shape) => ({ data: Int32Array.of(value), shape });

function tables(positions, headDim) {
  const pairs = headDim / 2;
  const make = (f) => ({
    data: Float32Array.from({ length: positions * pairs }, (_, i) =>
      f(Math.floor(i / pairs) * frequency(i % pairs, headDim)),
    ),
    shape: [positions, pairs],
  });
  return { cos: make(Math.cos), sin: make(Math.sin) };
}

function positionIds(offset, tokens) {
  return { data: BigInt64Array.from({ length: tokens }, (_, t) => BigInt(offset + t)), shape: [1, tokens] };
}

const joined = (...parts) => Float32Array.from(parts.flatMap((part) => Array.from(part)));

function rope({ pairing, heads, tokens, headDim, offset }, inputs) {
  const shape = [1, heads, tokens, headDim];
  const data = { q: { data: inputs.q, shape }, k: { data: inputs.k, shape } };
  const constants = { ...tables(offset + tokens, headDim), at: positionIds(offset, tokens) };
  const interleaved = pairing === 'interleaved' ? 1 : 0;
  const orders = [
    { form: 'RotaryEmbedding (ONNX 23)', domain: '', rest: ['cos', 'sin', 'at'] },
    { form: 'RotaryEmbedding (com.microsoft)', domain: ms, rest: ['at', 'cos', 'sin'] },
  ];
  return orders.map(({ form, domain, rest }) => ({
    form,
    nodes: ['q', 'k'].map((x) => ({ op: 'RotaryEmbedding', domain, in: [x, ...rest], out: `${x}Out`, interleaved })),
    data,
    constants,
    outputs: { qOut: 4, kOut: 4 },
    arrange: ({ qOut, kOut }) => joined(qOut, kOut),
  }));
}

function sinusoid({ rows, dim }) {
  const half = dim / 2;
  const data = { p: { data: Float32Array.from({ length: rows }, (_, p) => p), shape: [rows, 1] } };
  const w = { data: Float32Array.from({ length: half }, (_, j) => frequency(j, dim)), shape: [1, half] };
  const both = { data: Float32Array.from({ length: dim }, (_, i) => w.data[i >> 1]), shape: [1, dim] };
  const quarter = { data: Float32Array.from({ length: dim }, (_, i) => (i % 2) * (Math.PI / 2)), shape: [1, dim] };
  return [
    {
      form: 'Sin and Cos',
      nodes: [
        { op: 'Mul', in: ['p', 'w'], out: 'angle' },
        { op: 'Sin', in: ['angle'], out: 'sin' },
        { op: 'Cos', in: ['angle'], out: 'cos' },
        { op: 'Unsqueeze', in: ['sin', 'axis'], out: 'sins' },
        { op: 'Unsqueeze', in: ['cos', 'axis'], out: 'coss' },
        { op: 'Concat', in: ['sins', 'coss'], out: 'pairs', axis: 2 },
        { op: 'Reshape', in: ['pairs', 'shape'], out: 'y' },
      ],
      data,
      constants: { w, axis: int64(2), shape: int64(rows, dim) },
      outputs: { y: 2 },
    },
    {
      form: 'Sin of a shifted angle',
      nodes: [
        { op: 'Mul', in: ['p', 'w'], out: 'angle' },
        { op: 'Add', in: ['angle', 'quarter'], out: 'shifted' },
        { op: 'Sin', in: ['shifted'], out: 'y' },
      ],
      data,
      constants: { w: both, quarter },
      outputs: { y: 2 },
    },
  ];
}

// [outputs, inputs] to [inputs, outputs]
function transposed(weight, outputs, inputs) {
  const data = new Float32Array(weight.length);
  for (let o = 0; o < outputs; ++o) for (let i = 0; i < inputs; ++i) data[i * outputs + o] = weight[o * inputs + i];
  return { data, shape: [inputs, outputs] };
}

function linear({ rows, inputs, outputs }, { x, weight }) {
  const data = { x: { data: x, shape: [rows, inputs] } };
  return [
    {
      form: 'MatMul',
      nodes: [{ op: 'MatMul', in: ['x', 'w'], out: 'y' }],
      data,
      constants: { w: transposed(weight, outputs, inputs) },
      outputs: { y: 2 },
    },
    {
      form: 'Gemm',
      nodes: [{ op: 'Gemm', in: ['x', 'w'], out: 'y', transB: 1 }],
      data,
      constants: { w: { data: weight, shape: [outputs, inputs] } },
      outputs: { y: 2 },
    },
  ];
}

// Weights of 8 bits with a scale for each output, and of 4 bits with one for each 32 inputs.
function int8Product({ rows, inputs, outputs }, { x, weight }) {
  const rowsOf = (o) => weight.subarray(o * inputs, (o + 1) * inputs);
  const scales = Float32Array.from({ length: outputs }, (_, o) => largest(rowsOf(o)) / 127);
  const codes = new Int8Array(weight.length);
  for (let o = 0; o < outputs; ++o) {
    for (const [i, value] of rowsOf(o).entries()) codes[i * outputs + o] = Math.round(value / scales[o]);
  }
  return {
    form: 'DynamicQuantizeMatMul',
    nodes: [{ op: 'DynamicQuantizeMatMul', domain: ms, in: ['x', 'w', 'scales'], out: 'y' }],
    data: { x: { data: x, shape: [rows, inputs] } },
    constants: {
      w: { data: codes, shape: [inputs, outputs], type: 'int8' },
      scales: { data: scales, shape: [outputs] },
    },
    outputs: { y: 2 },
  };
}

function fourBitProducts({ rows, inputs, outputs }, { x, weight }) {
  const blocks = inputs / 32;
  const scales = new Float32Array(outputs * blocks);
  const codes = new Uint8Array(weight.length / 2);
  for (let block = 0; block < scales.length; ++block) {
    const values = weight.subarray(block * 32, block * 32 + 32);
    scales[block] = largest(values) / 7;
    for (const [i, value] of values.entries()) {
      codes[block * 16 + (i >> 1)] |= (Math.round(value / scales[block]) + 8) << (4 * (i % 2));
    }
  }
  const constants = {
    w: { data: codes, shape: [outputs, blocks, 16], type: 'uint8' },
    scales: { data: scales, shape: [outputs * blocks] },
  };
  const sizes = { K: inputs, N: outputs, bits: 4, block_size: 32 };
  // Accuracy level 0 multiplies floats, 4 integers.
  return [0, 4].map((level) => ({
    form: `MatMulNBits, accuracy level ${level}`,
    nodes: [{ op: 'MatMulNBits', domain: ms, in: ['x', 'w', 'scales'], out: 'y', ...sizes, accuracy_level: level }],
    data: { x: { data: x, shape: [rows, inputs] } },
    constants,
    outputs: { y: 2 },
  }));
}

const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

const blockLinear = (sizes, given) =>
  sizes.type === 'q4_0' ? fourBitProducts(sizes, given) : [int8Product(sizes, given)];

function softmax({ rows, columns }, { x }) {
  const data = { x: { data: x, shape: [rows, columns] } };
  return [{ form: 'Softmax', nodes: [{ op: 'Softmax', in: ['x'], out: 'y', axis: -1 }], data, outputs: { y: 2 } }];
}

// [outer, inner, dim] to [inner, outer, dim]: heads and tokens change places.
function swapped(data, outer, inner, dim) {
  const out = new Float32Array(data.length);
  for (let o = 0; o < outer; ++o) {
    for (let i = 0; i < inner; ++i) {
      const from = (o * inner + i) * dim;
      out.set(data.subarray(from, from + dim), (i * outer + o) * dim);
    }
  }
  return out;
}

function attention({ heads, tokens, headDim, causal }, { q, k, v }) {
  const all = (shape, f = (x) => x) => ({
    q: { data: f(q), shape },
    k: { data: f(k), shape },
    v: { data: f(v), shape },
  });
  const headsFirst = all([1, heads, tokens, headDim]);
  const tokensFirst = all([1, tokens, heads * headDim], (x) => swapped(x, heads, tokens, headDim));
  const back = ({ y }) => swapped(y, tokens, heads, headDim);
  const flag = causal ? 1 : 0;
  const forms = [
    {
      form: 'Attention (ONNX 24)',
      nodes: [{ op: 'Attention', in: ['q', 'k', 'v'], out: 'y', is_causal: flag }],
      data: headsFirst,
      outputs: { y: 4 },
    },
    {
      form: 'MultiHeadAttention',
      nodes: [{ ...mha(heads, causal), in: ['q', 'k', 'v'], out: 'y' }],
      data: tokensFirst,
      outputs: { y: 3 },
      arrange: back,
    },
  ];
  if (causal) {
    forms.push({
      form: 'GroupQueryAttention',
      nodes: [gqa(heads, ['q', 'k', 'v', '', ''])],
      data: tokensFirst,
      constants: lengths(tokens),
      outputs: { y: 3 },
      arrange: back,
    });
  } else {
    forms.push({
      form: 'MatMul, Softmax, MatMul',
      nodes: [
        {
          op: 'FusedMatMul',
          domain: ms,
          in: ['q', 'k'],
          out: 's',
          transB: 1,
          alpha: { float: 1 / Math.sqrt(headDim) },
        },
        { op: 'Softmax', in: ['s'], out: 'p', axis: -1 },
        { op: 'MatMul', in: ['p', 'v'], out: 'y' },
      ],
      data: headsFirst,
      outputs: { y: 4 },
    });
  }
  return forms;
}

const mha = (heads, causal) => ({
  op: 'MultiHeadAttention',
  domain: ms,
  num_heads: heads,
  unidirectional: causal ? 1 : 0,
});

const gqa = (heads, inputs, more = {}) => ({
  op: 'GroupQueryAttention',
  domain: ms,
  num_heads: heads,
  kv_num_heads: heads,
  in: [...inputs, 'last', 'total', ...(more.do_rotary ? ['cos', 'sin'] : [])],
  out: ['y', 'keysOut', 'valuesOut'],
  ...more,
});

// What GroupQueryAttention wants to know of a sequence of `total` tokens.
const lengths = (total) => ({ last: int32(total - 1, [1]), total: int32(total, [1]) });

const turn = (x, heads) => ({
  op: 'RotaryEmbedding',
  domain: ms,
  in: [x, 'at', 'cos', 'sin'],
  out: `${x}Turned`,
  num_heads: heads,
});

const project = (x, name, out) => ({ op: 'MatMul', in: [x, `${name}Weight`], out });

const qkv = [project('x', 'query', 'q'), project('x', 'key', 'k'), project('x', 'value', 'v')];

function projectionWeights(weights, dim) {
  const names = ['query', 'key', 'value', 'output'];
  return Object.fromEntries(names.map((name) => [`${name}Weight`, transposed(weights[name], dim, dim)]));
}

function attentionLayer({ modelDim, heads, tokens, causal }, { x, weights }) {
  const headDim = modelDim / heads;
  const common = {
    data: { x: { data: x, shape: [1, tokens, modelDim] } },
    constants: {
      ...projectionWeights(weights, modelDim),
      ...tables(tokens, headDim),
      ...lengths(tokens),
      at: positionIds(0, tokens),
    },
    outputs: { out: 3 },
  };
  const turned = [...qkv, turn('q', heads), turn('k', heads)];
  const last = project('y', 'output', 'out');
  const onnx = { op: 'Attention', q_num_heads: heads, kv_num_heads: heads, is_causal: causal ? 1 : 0 };
  const sides = { in: ['qTurned', 'kTurned', 'v'], out: 'y' };
  const forms = [
    { form: 'MultiHeadAttention', nodes: [...turned, { ...mha(heads, causal), ...sides }, last], ...common },
    { form: 'Attention (ONNX 24)', nodes: [...turned, { ...onnx, ...sides }, last], ...common },
  ];
  if (causal) {
    const attend = gqa(heads, ['q', 'k', 'v', '', ''], { do_rotary: 1 });
    forms.push({ form: 'GroupQueryAttention', nodes: [...qkv, attend, last], ...common });
  }
  return forms;
}

// Each step reads the cached keys and values and gives them back with one more, as a graph without state has to.
function decode({ modelDim, heads, past }, { x, weights, keys, values }) {
  const headDim = modelDim / heads;
  const shape = [1, heads, past, headDim];
  const common = {
    data: {
      x: { data: x, shape: [1, 1, modelDim] },
      keys: { data: keys, shape },
      values: { data: values, shape },
    },
    constants: {
      ...projectionWeights(weights, modelDim),
      ...tables(past + 1, headDim),
      ...lengths(past + 1),
      at: positionIds(past, 1),
    },
    outputs: { out: 3, keysOut: 4, valuesOut: 4 },
    arrange: ({ out }) => out,
  };
  const turned = [...qkv, turn('q', heads), turn('k', heads)];
  const last = project('y', 'output', 'out');
  const sides = ['qTurned', 'kTurned', 'v'];
  const out = ['y', 'keysOut', 'valuesOut'];
  const onnx = { op: 'Attention', q_num_heads: heads, kv_num_heads: heads };
  const attend = gqa(heads, ['q', 'k', 'v', 'keys', 'values'], { do_rotary: 1 });
  return [
    { form: 'GroupQueryAttention', nodes: [...qkv, attend, last], ...common },
    {
      form: 'MultiHeadAttention',
      nodes: [...turned, { ...mha(heads, false), in: [...sides, '', '', '', 'keys', 'values'], out }, last],
      ...common,
    },
    {
      form: 'Attention (ONNX 24)',
      nodes: [...turned, { ...onnx, in: [...sides, '', 'keys', 'values'], out }, last],
      ...common,
    },
  ];
}

function encoderLayer({ modelDim, heads, ffn, tokens, rope: turns, epsilon }, { x, weights: w }) {
  const vector = (data) => ({ data, shape: [data.length] });
  const biased = (name, out) => [project('x', name, `${out}0`), { op: 'Add', in: [`${out}0`, `${name}Bias`], out }];
  const norm = (sum, skip, name, bias, out) => ({
    op: 'SkipLayerNormalization',
    domain: ms,
    in: [sum, skip, `${name}Scale`, `${name}Shift`, bias],
    out,
    epsilon: { float: epsilon },
  });
  const side = (name) => (turns ? `${name}Turned` : name);
  const names = ['queryBias', 'keyBias', 'valueBias', 'outputBias', 'upBias', 'downBias'];
  return [
    {
      form: 'MultiHeadAttention, SkipLayerNormalization, BiasGelu',
      nodes: [
        ...biased('query', 'q'),
        ...biased('key', 'k'),
        ...biased('value', 'v'),
        ...(turns ? [turn('q', heads), turn('k', heads)] : []),
        { ...mha(heads, false), in: [side('q'), side('k'), 'v'], out: 'y' },
        project('y', 'output', 'attended'),
        norm('attended', 'x', 'attentionNorm', 'outputBias', 'middle'),
        { op: 'MatMul', in: ['middle', 'upWeight'], out: 'up' },
        { op: 'BiasGelu', domain: ms, in: ['up', 'upBias'], out: 'hidden' },
        { op: 'MatMul', in: ['hidden', 'downWeight'], out: 'down' },
        norm('down', 'middle', 'outputNorm', 'downBias', 'out'),
      ],
      data: { x: { data: x, shape: [1, tokens, modelDim] } },
      constants: {
        ...projectionWeights(w, modelDim),
        ...tables(tokens, modelDim / heads),
        at: positionIds(0, tokens),
        upWeight: transposed(w.up, ffn, modelDim),
        downWeight: transposed(w.down, modelDim, ffn),
        ...Object.fromEntries(names.map((name) => [name, vector(w[name])])),
        ...Object.fromEntries(
          ['attentionNorm', 'outputNorm'].flatMap((name) => [
            [`${name}Scale`, vector(w[name].scale)],
            [`${name}Shift`, vector(w[name].shift)],
          ]),
        ),
      },
      outputs: { out: 3 },
    },
  ];
}

export const forms = { rope, sinusoid, linear, blockLinear, softmax, attention, attentionLayer, decode, encoderLayer };
