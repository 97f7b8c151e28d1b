// onnxruntime, with one thread unless said otherwise: the web build as a peer, the native build for comparison. `op` leaves data and result
// inside: the web build has inputs as constants of the graph (with constant folding off, or nothing would be computed),
// the native one reads the caller's arrays in place; only one number of the result is fetched.
import { onnxruntimeNode, onnxruntimeThreads, onnxruntimeWeb } from '../../peers/libraries.mjs';
import { model } from '../../peers/onnx.mjs';
import { forms } from './onnx-forms.mjs';

const axes = (rank) => Array.from({ length: rank }, (_, i) => `axis${i}`);

const vector = (rank, value) => ({ data: new BigInt64Array(rank).fill(value), shape: [rank] });

function insideModel({ nodes, data, constants, outputs }, dataIsConstant) {
  const results = Object.entries(outputs);
  const slices = results.map(([name, rank]) => ({
    op: 'Slice',
    in: [name, `from${rank}`, `to${rank}`],
    out: `${name}At`,
  }));
  const bounds = results.flatMap(([, rank]) => [
    [`from${rank}`, vector(rank, 0n)],
    [`to${rank}`, vector(rank, 1n)],
  ]);
  return model({
    nodes: [...nodes, ...slices],
    inputs: dataIsConstant ? {} : declared(data),
    constants: { ...constants, ...Object.fromEntries(bounds), ...(dataIsConstant ? data : {}) },
    outputs: Object.fromEntries(results.map(([name, rank]) => [`${name}At`, { shape: new Array(rank).fill(1) }])),
  });
}

const declared = (data) => Object.fromEntries(Object.entries(data).map(([name, { shape }]) => [name, { shape }]));

function outsideModel({ nodes, data, constants, outputs, name }) {
  const shapes = Object.entries(outputs).map(([out, rank]) => [
    out,
    { shape: axes(rank).map((axis) => name + out + axis) },
  ]);
  return model({ nodes, inputs: declared(data), constants, outputs: Object.fromEntries(shapes) });
}

// A tensor of the caller's array, made for every call as a caller has to.
const feeds = (ort, data) =>
  Object.fromEntries(
    Object.entries(data).map(([name, { data: values, shape }]) => [name, new ort.Tensor('float32', values, shape)]),
  );

// onnxruntime warns of constants that no node reads.
function withUsedConstants(form) {
  const used = new Set(form.nodes.flatMap((node) => node.in));
  const constants = Object.entries(form.constants ?? {}).filter(([name]) => used.has(name));
  return { ...form, constants: Object.fromEntries(constants) };
}

async function prepare({ ort, options, dataIsConstant }, form) {
  const inside = await ort.InferenceSession.create(insideModel(form, dataIsConstant), options);
  const outside = await ort.InferenceSession.create(outsideModel({ name: 'out', ...form }), options);
  const fixed = dataIsConstant ? {} : feeds(ort, form.data);
  const first = Object.keys(form.outputs)[0];
  return {
    form: form.form,
    op: () => inside.run(fixed),
    io: () => outside.run(feeds(ort, form.data)),
    async result() {
      const results = await outside.run(feeds(ort, form.data));
      const arrays = Object.fromEntries(Object.entries(results).map(([name, tensor]) => [name, tensor.data]));
      return form.arrange ? form.arrange(arrays) : arrays[first];
    },
    async close() {
      await inside.release();
      await outside.release();
    },
  };
}

// Best of three after one call, unless that one is slow.
async function speed({ op }) {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 4 && (i < 2 || best < 500); ++i) {
    const start = performance.now();
    await op();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

async function fastest(runtime, candidates) {
  let chosen;
  const problems = [];
  for (const candidate of candidates) {
    try {
      const prepared = await prepare(runtime, withUsedConstants(candidate));
      const taken = await speed(prepared);
      if (chosen === undefined || taken < chosen.taken) {
        await chosen?.prepared.close();
        chosen = { prepared, taken };
      } else await prepared.close();
    } catch (error) {
      problems.push(`${candidate.form}: ${error.message}`);
    }
  }
  if (chosen === undefined) throw new Error(problems.join('; '));
  return chosen.prepared;
}

function withRuntime(version, runtime) {
  const operations = Object.entries(forms).map(([name, build]) => [
    name,
    (sizes, inputs) => fastest(runtime, build(sizes, inputs)),
  ]);
  return { version, operations: Object.fromEntries(operations) };
}

// Its glue leaves a global Worker behind in Node, from which jax-js concludes that it may use threads.
async function withoutTraces(start) {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'Worker');
  await start();
  if (before === undefined) delete globalThis.Worker;
}

const smallest = model({
  nodes: [{ op: 'Identity', in: ['x'], out: 'y' }],
  inputs: { x: { shape: [1] } },
  outputs: { y: { shape: [1] } },
});

/** @param paths addresses of the wasm files, for a page. */
async function openWeb({ paths } = {}, threads = 1) {
  const ort = await (threads === 1 ? onnxruntimeWeb() : onnxruntimeThreads(threads, paths?.onnxruntime));
  ort.env.logLevel = 'error';
  ort.env.wasm.numThreads = threads;
  if (paths) ort.env.wasm.wasmPaths = paths.onnxruntime;
  await withoutTraces(async () => (await ort.InferenceSession.create(smallest)).release());
  const extra = { optimization: { disable_specified_optimizers: 'ConstantFolding' } };
  return withRuntime(ort.env.versions.web, {
    ort,
    dataIsConstant: true,
    options: { executionProviders: ['wasm'], extra },
  });
}

async function openNode() {
  const ort = await onnxruntimeNode();
  ort.env.logLevel = 'error';
  const options = { executionProviders: ['cpu'], intraOpNumThreads: 1, interOpNumThreads: 1 };
  return withRuntime(ort.env.versions.node, { ort, dataIsConstant: false, options });
}

/** onnxruntime-web with several threads: no contender of every bench, since a page needs headers for it. */
export const threaded = (threads) => ({
  id: `ort-${threads}`,
  title: `onnxruntime-web, wasm, ${threads} threads`,
  open: (environment) => openWeb(environment, threads),
});

export const contenders = [
  { id: 'ort', title: 'onnxruntime-web, wasm, 1 thread', open: openWeb },
  { id: 'ort-native', title: 'onnxruntime-node, 1 thread', nodeOnly: true, open: openNode },
];
