// jax-js on its wasm backend, each operation compiled by jit. Functions consume their arguments, so `ref` keeps them.
import { jax as importJax } from '../../peers/libraries.mjs';
import { frequency } from '../reference.mjs';

// Runs `compute(constants, ...data)`, jitted, with data inside or from arrays and back to arrays.
function paths(jax, { data, constants = {}, compute }) {
  const { numpy: np, jit } = jax;
  const make = () => data.map(([values, shape]) => np.array(values).reshape(shape));
  const names = Object.keys(constants);
  const kept = names.map((name) => np.array(constants[name][0]).reshape(constants[name][1]));
  const run = jit((...all) => {
    const own = Object.fromEntries(names.map((name, i) => [name, all[i]]));
    return compute(own, ...all.slice(names.length));
  });
  const inside = make();
  const refs = (arrays) => arrays.map((array) => array.ref);
  const io = async () => {
    const results = [await run(...refs(kept), ...make())].flat();
    return Promise.all(results.map((result) => result.data()));
  };
  return {
    async op() {
      for (const result of [run(...refs(kept), ...refs(inside))].flat()) {
        await result.blockUntilReady();
        result.dispose();
      }
    },
    io,
    result: async () => Float32Array.from((await io()).flatMap((part) => Array.from(part))),
    close() {
      for (const array of [...kept, ...inside]) array.dispose();
    },
  };
}

function tables(headDim, tokens, offset, shape) {
  const pairs = headDim / 2;
  const angles = (f) =>
    Float32Array.from({ length: tokens * pairs }, (_, i) =>
      f((offset + Math.floor(i / pairs)) * frequency(i % pairs, headDim)),
    );
  return { cos: [angles(Math.cos), shape], sin: [angles(Math.sin), shape] };
}

// (a, b) -> (a cos - b sin, a sin + b cos)
const turn = (a, b, { cos, sin }) => [a.ref.mul(cos.ref).sub(b.ref.mul(sin.ref)), a.mul(sin.ref).add(b.mul(cos.ref))];

function turnHalf(np, x, table) {
  const [a, b] = np.split(x, 2, -1);
  return np.concatenate(turn(a, b, table), -1);
}

function turnInterleaved(np, x, table) {
  const shape = x.shape;
  const pairs = x.reshape([...shape.slice(0, -1), shape.at(-1) / 2, 2]);
  const [a, b] = np.split(pairs, 2, -1).map((part) => np.squeeze(part, -1));
  return np.stack(turn(a, b, table), -1).reshape(shape);
}

function rope(jax, { pairing, heads, tokens, headDim, offset }, { q, k }) {
  const shape = [heads, tokens, headDim];
  const rotate = pairing === 'half' ? turnHalf : turnInterleaved;
  return paths(jax, {
    data: [
      [q, shape],
      [k, shape],
    ],
    constants: tables(headDim, tokens, offset, [tokens, headDim / 2]),
    compute: (table, ...both) => both.map((x) => rotate(jax.numpy, x, table)),
  });
}

function sinusoid(jax, { rows, dim }) {
  const { numpy: np } = jax;
  const positions = Float32Array.from({ length: rows }, (_, i) => i);
  const w = Float32Array.from({ length: dim / 2 }, (_, j) => frequency(j, dim));
  return paths(jax, {
    data: [[positions, [rows, 1]]],
    constants: { w: [w, [1, dim / 2]] },
    compute({ w: frequencies }, at) {
      const angles = at.mul(frequencies);
      return np.stack([np.sin(angles.ref), np.cos(angles)], -1).reshape([rows, dim]);
    },
  });
}

const transpose = (jax, weight) => jax.numpy.matrixTranspose(weight);

const linear = (jax, { rows, inputs, outputs }, { x, weight }) =>
  paths(jax, {
    data: [[x, [rows, inputs]]],
    constants: { w: [weight, [outputs, inputs]] },
    compute: ({ w }, a) => jax.numpy.matmul(a, transpose(jax, w)),
  });

const softmax = (jax, { rows, columns }, { x }) =>
  paths(jax, { data: [[x, [rows, columns]]], compute: (_, a) => jax.nn.softmax(a, -1) });

// dotProductAttention takes [B, T, H, D].
function attention(jax, { heads, tokens, headDim, causal }, { q, k, v }) {
  const { numpy: np, nn } = jax;
  const swap = (x) => np.swapaxes(x, 1, 2);
  return paths(jax, {
    data: [q, k, v].map((x) => [x, [1, heads, tokens, headDim]]),
    compute: (_, ...sides) => swap(nn.dotProductAttention(...sides.map(swap), { isCausal: causal })),
  });
}

function attentionLayer(jax, { modelDim, heads, tokens, causal }, { x, weights }) {
  const { numpy: np, nn } = jax;
  const headDim = modelDim / heads;
  const square = (name) => [weights[name], [modelDim, modelDim]];
  return paths(jax, {
    data: [[x, [tokens, modelDim]]],
    constants: {
      ...tables(headDim, tokens, 0, [1, tokens, 1, headDim / 2]),
      query: square('query'),
      key: square('key'),
      value: square('value'),
      output: square('output'),
    },
    compute({ query, key, value, output, ...table }, a) {
      const project = (w) => np.matmul(a.ref, transpose(jax, w)).reshape([1, tokens, heads, headDim]);
      const [q, k] = [query, key].map((w) => turnHalf(np, project(w), table));
      const mixed = nn.dotProductAttention(q, k, project(value), { isCausal: causal });
      return np.matmul(mixed.reshape([tokens, modelDim]), transpose(jax, output));
    },
  });
}

const operations = { rope, sinusoid, linear, softmax, attention, attentionLayer };

async function open() {
  const jax = await importJax();
  await jax.init('wasm');
  jax.defaultDevice('wasm');
  const entries = Object.entries(operations).map(([name, f]) => [name, (...given) => f(jax, ...given)]);
  return { operations: Object.fromEntries(entries) };
}

export const contenders = [{ id: 'jax', title: 'jax-js, wasm', open }];
