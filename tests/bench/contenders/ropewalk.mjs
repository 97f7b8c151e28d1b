// This package through its public API: the relaxed build and the simd128 build. `op` works on tensors, `io` on the
// caller's arrays, which are copied in and out; both write to the caller's `out`.
import { load } from 'ropewalk';

function rope(rw, { pairing, heads, tokens, headDim, offset }, inputs) {
  const plan = rw.rope({ headDim, pairing });
  const shape = [heads, tokens, headDim];
  const [q, k] = [rw.tensor(shape, inputs.q), rw.tensor(shape, inputs.k)];
  const [qa, ka] = [inputs.q, inputs.k].map((data) => ({ data, shape }));
  const out = [new Float32Array(q.size), new Float32Array(k.size)];
  const io = () => {
    plan.rotateBoth(qa, ka, { offset, out });
  };
  return {
    op() {
      plan.rotateBoth(q, k, { offset });
    },
    io,
    result() {
      io();
      return joined(...out);
    },
    close: () => dispose(plan, q, k),
  };
}

function joined(a, b) {
  const both = new Float32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

const dispose = (...owned) => {
  for (const object of owned) object.dispose();
};

function sinusoid(rw, { rows, dim }) {
  const [inside, out] = [rw.tensor([rows, dim]), new Float32Array(rows * dim)];
  const io = () => rw.sinusoidal({ dim, positions: { length: rows }, out });
  return {
    op() {
      rw.sinusoidal({ dim, positions: { length: rows }, out: inside });
    },
    io,
    result: io,
    close: () => inside.dispose(),
  };
}

function linear(rw, { rows, inputs, outputs, type: storage = 'float32' }, { x, weight }) {
  const map = rw.linear({ weight: { data: weight, shape: [outputs, inputs] }, storage });
  const shape = [rows, inputs];
  const [inside, result] = [rw.tensor(shape, x), rw.tensor([rows, outputs])];
  const out = new Float32Array(rows * outputs);
  const given = { data: x, shape };
  const io = () => map.apply(given, { out }).data;
  return {
    op() {
      map.apply(inside, { out: result });
    },
    io,
    result: io,
    close: () => dispose(map, inside, result),
  };
}

function softmax(rw, { rows, columns }, { x }) {
  const shape = [rows, columns];
  const [inside, result] = [rw.tensor(shape, x), rw.tensor(shape)];
  const out = new Float32Array(x.length);
  const io = () => rw.softmax({ data: x, shape }, { out }).data;
  return {
    op() {
      rw.softmax(inside, { out: result });
    },
    io,
    result: io,
    close: () => dispose(inside, result),
  };
}

function attention(rw, { heads, tokens, headDim, causal }, inputs) {
  const shape = [1, heads, tokens, headDim];
  const [q, k, v] = ['q', 'k', 'v'].map((name) => rw.tensor(shape, inputs[name]));
  const [qa, ka, va] = ['q', 'k', 'v'].map((name) => ({ data: inputs[name], shape }));
  const [inside, out] = [rw.tensor(shape), new Float32Array(q.size)];
  const io = () => rw.attention(qa, ka, va, { causal, out }).out.data;
  return {
    op() {
      rw.attention(q, k, v, { causal, out: inside });
    },
    io,
    result: io,
    close: () => dispose(q, k, v, inside),
  };
}

function linearAttention(rw, { heads, tokens, headDim }, inputs) {
  const shape = [1, heads, tokens, headDim];
  const [q, k, v] = ['q', 'k', 'v'].map((name) => rw.tensor(shape, inputs[name]));
  const [qa, ka, va] = ['q', 'k', 'v'].map((name) => ({ data: inputs[name], shape }));
  const [inside, out] = [rw.tensor(shape), new Float32Array(q.size)];
  const io = () => rw.linearAttention(qa, ka, va, { causal: true, out }).out.data;
  return {
    op() {
      rw.linearAttention(q, k, v, { causal: true, out: inside });
    },
    io,
    result: io,
    close: () => dispose(q, k, v, inside),
  };
}

function passes(rw, layer, x, shape) {
  const [inside, result] = [rw.tensor(shape, x), rw.tensor(shape)];
  const out = new Float32Array(x.length);
  const io = () => layer.forward({ data: x, shape }, { out }).out.data;
  return {
    op() {
      layer.forward(inside, { out: result });
    },
    io,
    result: io,
    close: () => dispose(layer, inside, result),
  };
}

function attentionLayer(rw, { modelDim, heads, tokens, causal }, { x, weights }) {
  const layer = rw.attentionLayer({ modelDim, heads, causal, position: { encoding: 'rope' }, weights });
  const shape = [1, tokens, modelDim];
  return passes(rw, layer, x, shape);
}

// Decodes one token over `past` cached tokens, to which the cache is truncated after each step. Given keys are rotated.
function decode(rw, { modelDim, heads, past }, { x, weights, keys, values }) {
  const layer = rw.attentionLayer({ modelDim, heads, causal: true, position: { encoding: 'rope' }, weights });
  const headDim = modelDim / heads;
  const cache = layer.kvCache({ batch: 1, capacity: past + 1 });
  const plan = rw.rope({ headDim });
  // The cache turns what it is given.
  const unturned = plan.unrotate({ data: keys, shape: [1, heads, past, headDim] });
  cache.append(unturned, { data: values, shape: [1, heads, past, headDim] });
  const shape = [1, 1, modelDim];
  const [inside, result] = [rw.tensor(shape, x), rw.tensor(shape)];
  const [given, out] = [{ data: x, shape }, new Float32Array(modelDim)];
  const step = (input, to) => {
    layer.forward(input, { cache, out: to });
    cache.truncate(past);
    return to;
  };
  const io = () => step(given, out);
  return {
    op() {
      step(inside, result);
    },
    io,
    result: io,
    close: () => dispose(cache, layer, plan, inside, result),
  };
}

function encoderLayer(rw, { modelDim, heads, ffn, tokens, rope: turned, epsilon }, { x, weights }) {
  const { attentionNorm, outputNorm, ...others } = weights;
  const layer = rw.encoderLayer({
    modelDim,
    heads,
    hiddenDim: ffn,
    eps: epsilon,
    position: { encoding: turned ? 'rope' : 'none' },
    weights: {
      ...others,
      attentionNorm: attentionNorm.scale,
      attentionNormBias: attentionNorm.shift,
      feedForwardNorm: outputNorm.scale,
      feedForwardNormBias: outputNorm.shift,
    },
  });
  const shape = [1, tokens, modelDim];
  return passes(rw, layer, x, shape);
}

const operations = {
  rope,
  sinusoid,
  linear,
  blockLinear: linear,
  softmax,
  attention,
  linearAttention,
  attentionLayer,
  decode,
  encoderLayer,
};

const withInstance = (rw) => ({
  version: rw.info().version,
  operations: Object.fromEntries(Object.entries(operations).map(([name, f]) => [name, (...given) => f(rw, ...given)])),
});

async function open(build, options) {
  const rw = await load(options);
  return rw.info().simd === build ? withInstance(rw) : undefined;
}

/** ropewalk with several threads: no contender of every bench, since a page needs headers for it. */
export const threaded = (threads) => ({
  id: `ropewalk-${threads}`,
  title: `ropewalk, ${threads} threads`,
  async open() {
    const rw = await (await import('ropewalk/threads')).load({ threads });
    if (rw.info().threads !== threads) throw new Error(rw.info().why);
    return { ...withInstance(rw), close: () => rw.dispose() };
  },
});

export const contenders = [
  { id: 'relaxed', title: 'ropewalk, relaxed SIMD', open: () => open('relaxed', { simd: 'auto' }) },
  { id: 'simd', title: 'ropewalk, simd128', open: () => open('simd128', { simd: 'deterministic' }) },
];
