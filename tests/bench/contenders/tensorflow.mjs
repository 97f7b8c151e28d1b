// TensorFlow.js on its wasm backend with SIMD and one thread. It has no single kernel for any of these operations: each
// is written with the usual few calls, with tables and masks made beforehand.
import { tensorflow } from '../../peers/libraries.mjs';
import { frequency } from '../reference.mjs';

// Runs `compute` (one or more tensors as a result) with data inside, or from arrays and back to arrays.
function paths(tf, { data, compute, owned = [] }) {
  const make = () => data.map(([values, shape]) => tf.tensor(values, shape, 'float32'));
  const inside = make();
  // Nothing is given back through tidy(), which would look for tensors in every number of it.
  const io = () => {
    let arrays;
    tf.tidy(() => {
      arrays = [compute(...make())].flat().map((tensor) => tensor.dataSync());
    });
    return arrays;
  };
  return {
    op: () => tf.dispose(tf.tidy(() => compute(...inside))),
    io,
    result: () => Float32Array.from(io().flatMap((part) => Array.from(part))),
    close: () => tf.dispose([...inside, ...owned]),
  };
}

function tables(tf, headDim, tokens, offset, shape) {
  const angles = (f) =>
    tf.tensor(
      Float32Array.from({ length: (tokens * headDim) / 2 }, (_, i) =>
        f((offset + Math.floor(i / (headDim / 2))) * frequency(i % (headDim / 2), headDim)),
      ),
      shape ?? [tokens, headDim / 2],
    );
  return { cos: angles(Math.cos), sin: angles(Math.sin) };
}

// x [.., T, D]; the tables broadcast to its halves.
function turnHalf(tf, x, { cos, sin }) {
  const [a, b] = tf.split(x, 2, -1);
  return tf.concat([tf.sub(tf.mul(a, cos), tf.mul(b, sin)), tf.add(tf.mul(a, sin), tf.mul(b, cos))], -1);
}

function turnInterleaved(tf, x, { cos, sin }) {
  const [a, b] = tf.unstack(tf.reshape(x, [...x.shape.slice(0, -1), x.shape.at(-1) / 2, 2]), -1);
  const turned = [tf.sub(tf.mul(a, cos), tf.mul(b, sin)), tf.add(tf.mul(a, sin), tf.mul(b, cos))];
  return tf.reshape(tf.stack(turned, -1), x.shape);
}

function rope(tf, { pairing, heads, tokens, headDim, offset }, { q, k }) {
  const table = tables(tf, headDim, tokens, offset);
  const shape = [heads, tokens, headDim];
  const turn = pairing === 'half' ? turnHalf : turnInterleaved;
  return paths(tf, {
    data: [
      [q, shape],
      [k, shape],
    ],
    compute: (...both) => both.map((x) => turn(tf, x, table)),
    owned: [table.cos, table.sin],
  });
}

function sinusoid(tf, { rows, dim }) {
  const at = Float32Array.from({ length: rows }, (_, i) => i);
  const w = tf.tensor(
    Float32Array.from({ length: dim / 2 }, (_, j) => frequency(j, dim)),
    [1, dim / 2],
  );
  const compute = (positions) => {
    const angles = tf.mul(positions, w);
    return tf.reshape(tf.stack([tf.sin(angles), tf.cos(angles)], -1), [rows, dim]);
  };
  return paths(tf, { data: [[at, [rows, 1]]], compute, owned: [w] });
}

// [outputs, inputs] as matMul wants it.
const matrix = (tf, weight, inputs) => tf.transpose(tf.tensor(weight, [weight.length / inputs, inputs]));

function linear(tf, { rows, inputs }, { x, weight }) {
  const w = matrix(tf, weight, inputs);
  return paths(tf, { data: [[x, [rows, inputs]]], compute: (a) => tf.matMul(a, w), owned: [w] });
}

const softmax = (tf, { rows, columns }, { x }) =>
  paths(tf, { data: [[x, [rows, columns]]], compute: (a) => tf.softmax(a) });

const hidden = -1e9;

function causalMask(tf, tokens) {
  const values = Float32Array.from({ length: tokens * tokens }, (_, i) =>
    i % tokens > Math.floor(i / tokens) ? hidden : 0,
  );
  return tf.tensor(values, [tokens, tokens]);
}

// q, k, v [H, T, D]
function attend(tf, q, k, v, mask) {
  const scores = tf.mul(tf.matMul(q, k, false, true), tf.scalar(1 / Math.sqrt(q.shape.at(-1))));
  return tf.matMul(tf.softmax(mask ? tf.add(scores, mask) : scores), v);
}

function attention(tf, { heads, tokens, headDim, causal }, { q, k, v }) {
  const mask = causal ? causalMask(tf, tokens) : undefined;
  return paths(tf, {
    data: [q, k, v].map((x) => [x, [heads, tokens, headDim]]),
    compute: (...sides) => attend(tf, ...sides, mask),
    owned: mask ? [mask] : [],
  });
}

const names = ['query', 'key', 'value', 'output'];

// Everything a layer keeps, and a call of it on x [T, M].
function selfAttention(tf, { modelDim, heads, tokens, causal, rope: turns }, weights) {
  const w = Object.fromEntries(names.map((name) => [name, matrix(tf, weights[name], modelDim)]));
  const biases = names.filter((name) => weights[`${name}Bias`]);
  const b = Object.fromEntries(biases.map((name) => [name, tf.tensor(weights[`${name}Bias`])]));
  const table = tables(tf, modelDim / heads, tokens, 0);
  const mask = causal ? causalMask(tf, tokens) : undefined;
  const project = (x, name) => {
    const y = tf.matMul(x, w[name]);
    return b[name] ? tf.add(y, b[name]) : y;
  };
  const split = (x) => tf.transpose(tf.reshape(x, [tokens, heads, modelDim / heads]), [1, 0, 2]);
  const turn = (x) => (turns ? turnHalf(tf, x, table) : x);
  const call = (x) => {
    const [q, k, v] = names.slice(0, 3).map((name) => split(project(x, name)));
    const mixed = attend(tf, turn(q), turn(k), v, mask);
    return project(tf.reshape(tf.transpose(mixed, [1, 0, 2]), [tokens, modelDim]), 'output');
  };
  const owned = [...Object.values(w), ...Object.values(b), table.cos, table.sin, ...(mask ? [mask] : [])];
  return { call, owned };
}

function attentionLayer(tf, sizes, { x, weights }) {
  const { call, owned } = selfAttention(tf, { ...sizes, rope: true }, weights);
  return paths(tf, { data: [[x, [sizes.tokens, sizes.modelDim]]], compute: call, owned });
}

function decode(tf, { modelDim, heads, past }, { x, weights, keys, values }) {
  const headDim = modelDim / heads;
  const w = Object.fromEntries(names.map((name) => [name, matrix(tf, weights[name], modelDim)]));
  const table = tables(tf, headDim, 1, past);
  const compute = (input, cachedKeys, cachedValues) => {
    const [q, k, v] = names.slice(0, 3).map((name) => tf.reshape(tf.matMul(input, w[name]), [heads, 1, headDim]));
    const allKeys = tf.concat([cachedKeys, turnHalf(tf, k, table)], 1);
    const allValues = tf.concat([cachedValues, v], 1);
    const mixed = attend(tf, turnHalf(tf, q, table), allKeys, allValues);
    return tf.matMul(tf.reshape(mixed, [1, modelDim]), w.output);
  };
  const cache = [heads, past, headDim];
  return paths(tf, {
    data: [
      [x, [1, modelDim]],
      [keys, cache],
      [values, cache],
    ],
    compute,
    owned: [...Object.values(w), table.cos, table.sin],
  });
}

function encoderLayer(tf, sizes, { x, weights: w }) {
  const { modelDim, ffn, tokens, epsilon } = sizes;
  const { call, owned } = selfAttention(tf, { ...sizes, causal: false }, w);
  const vector = (values) => tf.tensor(values, [1, values.length]);
  const norms = [w.attentionNorm, w.outputNorm].map(({ scale, shift }) => [vector(scale), vector(shift)]);
  const [up, down] = [matrix(tf, w.up, modelDim), matrix(tf, w.down, ffn)];
  const [upBias, downBias] = [vector(w.upBias), vector(w.downBias)];
  const norm = (a, [scale, shift]) => {
    const mean = tf.mean(a, -1, true);
    const centred = tf.sub(a, mean);
    const variance = tf.mean(tf.square(centred), -1, true);
    return tf.add(tf.mul(tf.mul(centred, tf.rsqrt(tf.add(variance, epsilon))), scale), shift);
  };
  const gelu = (a) => tf.mul(tf.mul(a, 0.5), tf.add(erf(tf, tf.mul(a, Math.SQRT1_2)), 1));
  const compute = (input) => {
    const middle = norm(tf.add(call(input), input), norms[0]);
    const inner = gelu(tf.add(tf.matMul(middle, up), upBias));
    return norm(tf.add(tf.add(tf.matMul(inner, down), downBias), middle), norms[1]);
  };
  return paths(tf, {
    data: [[x, [tokens, modelDim]]],
    compute,
    owned: [...owned, ...norms.flat(), up, down, upBias, downBias],
  });
}

// The wasm backend has no erf kernel: Abramowitz and Stegun 7.1.26, within 1.5e-7.
function erf(tf, x) {
  const size = tf.abs(x);
  const t = tf.reciprocal(tf.add(tf.mul(size, 0.3275911), 1));
  const series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592].reduce(
    (sum, c) => (sum ? tf.add(tf.mul(sum, t), c) : tf.scalar(c)),
    undefined,
  );
  return tf.mul(tf.sign(x), tf.sub(1, tf.mul(tf.mul(series, t), tf.exp(tf.neg(tf.square(size))))));
}

const operations = { rope, sinusoid, linear, softmax, attention, attentionLayer, decode, encoderLayer };

async function open({ paths: places } = {}) {
  const { tf, wasm } = await tensorflow();
  if (places) wasm.setWasmPaths(places.tensorflow);
  await tf.setBackend('wasm');
  await tf.ready();
  const entries = Object.entries(operations).map(([name, f]) => [name, (...given) => f(tf, ...given)]);
  return { version: wasm.version_wasm, operations: Object.fromEntries(entries) };
}

export const contenders = [{ id: 'tfjs', title: 'TensorFlow.js, wasm', open }];
