// Random cases against onnxruntime-web: the draws, the sessions, and the comparison.
import assert from 'node:assert/strict';
import { random, sizeOf } from '../ts/support/arrays.mjs';
import { builds } from '../vectors/builds.mjs';
import { onnxruntimeWeb } from './libraries.mjs';
import { model } from './onnx.mjs';

// Both programs round every product and sum of some ten to a hundred terms, in another order: a few roundings of the
// largest number that takes part.
const tolerance = 2e-6;

/** A source of random values for one case; the same seed gives the same case. */
export function drawer(seed) {
  let next = 0;
  const unit = () => {
    next += 1;
    return (random(1, seed * 7919 + next)[0] + 1) / 2;
  };
  const integer = (low, high) => low + Math.floor(unit() * (high - low + 1));
  return {
    integer,
    pick: (...choices) => choices[integer(0, choices.length - 1)],
    numbers: (...shape) => ({ data: random(sizeOf(shape), integer(1, 2 ** 31)), shape }),
    /** Arbitrary positions from 0 to `high`, the last row of a table. */
    integers: (length, high) => Array.from({ length }, () => integer(0, high)),
  };
}

let runtime;

async function start() {
  const ort = await onnxruntimeWeb();
  ort.env.logLevel = 'error';
  ort.env.wasm.numThreads = 1;
  return ort;
}

const sessions = new Map();

// Graphs differ only in attributes and in which inputs there are; sizes are symbolic, so that few are made.
async function sessionOf(ort, node, inputs) {
  const shapes = inputs.map(([name, { type, shape }]) => [name, type, shape.length]);
  const key = JSON.stringify([node, shapes]);
  if (!sessions.has(key)) {
    const outputs = Object.fromEntries(node.out.map((name) => [name, { shape: undefined }]));
    const declared = shapes.map(([name, type, rank]) => [
      name,
      { type, shape: Array.from({ length: rank }, (_, axis) => `${name}${axis}`) },
    ]);
    const bytes = model({ nodes: [node], inputs: Object.fromEntries(declared), outputs });
    sessions.set(key, ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] }));
  }
  return sessions.get(key);
}

/** Runs a node and gives its first output as a Float32Array; `inputs` are { name: { data, shape, type } }. */
export async function onnxruntime(node, inputs) {
  runtime ??= start();
  const ort = await runtime;
  const all = Object.entries(inputs).map(([name, input]) => [name, { type: 'float32', ...input }]);
  const session = await sessionOf(ort, { ...node, out: [node.out].flat() }, all);
  const feeds = all.map(([name, { type, data, shape }]) => [name, new ort.Tensor(type, data, shape)]);
  const results = await session.run(Object.fromEntries(feeds));
  return results[[node.out].flat()[0]].data;
}

/** Positions or lengths as onnxruntime's inputs. */
export const int64 = (values, shape) => ({ type: 'int64', data: BigInt64Array.from(values, BigInt), shape });
export const int32 = (values, shape) => ({ type: 'int32', data: Int32Array.from(values), shape });
export const bool = (values, shape) => ({ type: 'bool', data: Uint8Array.from(values), shape });

export function assertAgree(ours, theirs, what) {
  assert.equal(ours.length, theirs.length, 'as many numbers');
  const largest = theirs.reduce((max, v) => Math.max(max, Math.abs(v)), 0);
  for (let i = 0; i < theirs.length; ++i) {
    const difference = Math.abs(ours[i] - theirs[i]);
    // NaN is within no tolerance.
    if (!(difference <= tolerance * largest)) {
      assert.fail(`[${i}] is ${ours[i]}, onnxruntime has ${theirs[i]}; the case is ${JSON.stringify(what)}`);
    }
  }
}

/**
 * Draws `count` cases and compares them on every build of the package that this runtime can run. `draw(drawer, rw)`
 * gives { ours(rw), out, what }; its `rw` is only for computing tables, which are inputs of a case.
 */
export async function everyCase(count, seed, draw) {
  const instances = await Promise.all((await builds()).flatMap(({ load }) => (load ? [load()] : [])));
  for (let i = 0; i < count; ++i) {
    const { ours, out, what } = await draw(drawer(seed + i), instances[0]);
    for (const rw of instances) assertAgree(ours(rw), out, what);
  }
}
