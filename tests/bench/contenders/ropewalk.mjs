// This package, through its public API: the relaxed build and the plain simd build. `op` works on tensors, `io` on the
// caller's arrays, copied in and out.
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

// The table goes to a JavaScript array either way.
function sinusoid(rw, { rows, dim }) {
  const io = () => rw.sinusoidal({ dim, positions: { length: rows } });
  return { op: io, io, result: io };
}

function softmax(rw, { rows, columns }, { x }) {
  const shape = [rows, columns];
  const inside = rw.tensor(shape, x);
  const io = () => rw.softmax({ data: x, shape }).data;
  return { op: () => rw.softmax(inside).dispose(), io, result: io, close: () => inside.dispose() };
}

function attention(rw, { heads, tokens, headDim, causal }, inputs) {
  const shape = [1, heads, tokens, headDim];
  const [q, k, v] = ['q', 'k', 'v'].map((name) => rw.tensor(shape, inputs[name]));
  const [qa, ka, va] = ['q', 'k', 'v'].map((name) => ({ data: inputs[name], shape }));
  const io = () => rw.attention(qa, ka, va, { causal }).out.data;
  return { op: () => rw.attention(q, k, v, { causal }).out.dispose(), io, result: io, close: () => dispose(q, k, v) };
}

function attentionLayer(rw, { modelDim, heads, tokens, causal }, { x, weights }) {
  const layer = rw.attentionLayer({ modelDim, heads, causal, position: { encoding: 'rope' }, weights });
  const shape = [1, tokens, modelDim];
  const inside = rw.tensor(shape, x);
  const io = () => layer.forward({ data: x, shape }).out.data;
  return { op: () => layer.forward(inside).out.dispose(), io, result: io, close: () => dispose(layer, inside) };
}

const operations = { rope, sinusoid, softmax, attention, attentionLayer };

async function open(build, options) {
  const rw = await load(options);
  if (rw.info().simd !== build) return undefined;
  return {
    version: rw.info().version,
    operations: Object.fromEntries(
      Object.entries(operations).map(([name, f]) => [name, (...given) => f(rw, ...given)]),
    ),
  };
}

export const contenders = [
  { id: 'relaxed', title: 'ropewalk, relaxed SIMD', open: () => open('relaxed', { simd: 'auto' }) },
  { id: 'simd', title: 'ropewalk, simd128', open: () => open('simd128', { simd: 'deterministic' }) },
];
