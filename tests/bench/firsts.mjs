// The time to a first result: imports a library and rotates the queries of one token once, the cost before a page can
// show anything. Each measurement runs in a fresh process or page.
import { jax, onnxruntimeWeb, tensorflow } from '../peers/libraries.mjs';

const [heads, headDim] = [4, 64];
const shape = [heads, 1, headDim];
const x = () => Float32Array.from({ length: heads * headDim }, (_, i) => Math.sin(i));
const table = (f) => Float32Array.from({ length: headDim / 2 }, (_, j) => f(7 * 10000 ** ((-2 * j) / headDim)));

async function ropewalk() {
  const { load } = await import('ropewalk');
  const rw = await load();
  return rw.rope({ headDim }).rotate(x(), { shape, offset: 7 });
}

// The model is bytes that a caller would have: they are not counted.
async function onnxruntime({ paths, model } = {}) {
  const ort = await onnxruntimeWeb();
  ort.env.wasm.numThreads = 1;
  if (paths) ort.env.wasm.wasmPaths = paths.onnxruntime;
  const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] });
  const { y } = await session.run({ x: new ort.Tensor('float32', x(), [1, ...shape]) });
  return y.data;
}

async function tfjs({ paths } = {}) {
  const { tf, wasm } = await tensorflow();
  if (paths) wasm.setWasmPaths(paths.tensorflow);
  await tf.setBackend('wasm');
  await tf.ready();
  const [cos, sin] = [tf.tensor(table(Math.cos)), tf.tensor(table(Math.sin))];
  const [a, b] = tf.split(tf.tensor(x(), shape), 2, -1);
  const turned = [tf.sub(tf.mul(a, cos), tf.mul(b, sin)), tf.add(tf.mul(a, sin), tf.mul(b, cos))];
  return tf.concat(turned, -1).dataSync();
}

async function jaxjs() {
  const { numpy: np, init, defaultDevice } = await jax();
  await init('wasm');
  defaultDevice('wasm');
  const [cos, sin] = [np.array(table(Math.cos)), np.array(table(Math.sin))];
  const [a, b] = np.split(np.array(x()).reshape(shape), 2, -1);
  const turned = [a.ref.mul(cos.ref).sub(b.ref.mul(sin.ref)), a.mul(sin).add(b.mul(cos))];
  return np.concatenate(turned, -1).data();
}

export const firsts = { ropewalk, ort: onnxruntime, tfjs, jax: jaxjs };

export const titles = {
  ropewalk: 'ropewalk',
  ort: 'onnxruntime-web',
  tfjs: 'TensorFlow.js, wasm',
  jax: 'jax-js, wasm',
};

/** Milliseconds from before the import until the result is there. */
export async function timeFirst(name, environment) {
  const start = performance.now();
  const result = await firsts[name](environment);
  const taken = performance.now() - start;
  if (result.length !== heads * headDim) throw new Error(`${name} gave ${result.length} numbers`);
  return taken;
}

/** The graph for onnxruntime: rotates [1, H, 1, D] at position 7. */
export function firstModel(model) {
  const cache = (f) => ({ data: table(f), shape: [1, 1, headDim / 2] });
  return model({
    nodes: [{ op: 'RotaryEmbedding', in: ['x', 'cos', 'sin'], out: 'y' }],
    inputs: { x: { shape: [1, ...shape] } },
    outputs: { y: { shape: [1, ...shape] } },
    constants: { cos: cache(Math.cos), sin: cache(Math.sin) },
  });
}
