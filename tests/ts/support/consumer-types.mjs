// A consumer's program with the package's declarations, and its compilation: strict, with library checks, under both kinds
// of resolution.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { folderWith } from './folder.mjs';
import { root, run } from './node.mjs';

const consumer = `
import {
  type AttentionLayer, type AttentionResult, type Info, type LinearAttentionResult, type LinearAttentionState, load, type Memory, type NdArray, RangeErrorOf, type RopePlan,
  type Ropewalk, StateError, type Tensor,
} from './names.js';

import type { GeluOptions, RopeTables, RotateOptions, TensorInput } from 'ropewalk';
import {
  compare, type ComparedTensor, type DecoderModel, type GeneratedToken, type FileSource, type Gguf, type GgufDtype, GgufError, type GgufValue, loadModel, openGguf, openSafetensors, type Safetensors, SafetensorsError, type StoredArray, sample, type SamplingOptions,
} from 'ropewalk/models';
import { type BuildUrls, type ExternalLoadOptions, load as loadExternal, type WasmInput } from 'ropewalk/external';
import { expose, type MessageEndpoint, type Remote, transfer, wrap } from 'ropewalk/worker';

const rw: Ropewalk = await load({ simd: 'deterministic' });
const urls: BuildUrls = { simd128: '/core.wasm', relaxed: new URL('https://example.org/core-relaxed.wasm') };
const inputs: WasmInput[] = [new Uint8Array(8), new ArrayBuffer(8), new Response(), new URL('https://example.org')];
const elsewhere: ExternalLoadOptions[] = [{ url: urls }, { url: '/core.wasm', simd: 'deterministic' }, { module: {} }];
for (const wasm of inputs) await loadExternal({ wasm });
for (const options of elsewhere) await loadExternal(options);
const streamed: Ropewalk = await loadExternal({ wasm: fetch('/core.wasm') });
export { streamed };
const file: Safetensors = await openSafetensors(rw, new Uint8Array(0), { onProgress: ({ loaded, total }) => loaded / total });
const raw: StoredArray = await file.tensor('w');
const wide = await file.tensor('w', { as: 'float32' });
await file.readInto('w', rw.tensor(file.info('w').shape), { start: 0, end: 4, signal: AbortSignal.timeout(1000) });
const source: FileSource = new Uint8Array(0);
const gguf: Gguf = await openGguf(rw, source, { part: async (number, count) => String(number + count) });
const architecture: GgufValue | undefined = gguf.metadata.get('general.architecture');
const dtype: GgufDtype = gguf.info('w').dtype;
const key: string | undefined = new GgufError('file', undefined, 'problem', { key: 'k' }).key;
const damaged: string | undefined = new SafetensorsError('file', 'tensor', 'problem').tensor;
export { damaged, raw, wide };
const choice: SamplingOptions = { temperature: 0.7, topK: 40, topP: 0.9, minP: 0.01, repetitionPenalty: 1.1 };
const token: number = sample(wide, { ...choice, seed: 1, index: 2, previous: [1] });
export { token };
const loaded = await loadModel(rw, { config: {}, weights: 'model.safetensors' });
if (loaded.kind === 'encoder-decoder') {
  const { logits, crossProbabilities = [] } = loaded.forward([1], [0], { logits: 'all', crossProbabilities: true });
  for await (const { token } of loaded.generate([1], { ...choice, targetIds: [0] })) token.toFixed();
  throw new RangeError([...logits.shape, crossProbabilities.length].join());
}
const model = loaded;
for await (const { token, logprob } of model.generate([1], { ...choice, maxTokens: 3, stop: [2], logprobs: true })) {
  (logprob ?? token).toFixed();
}
const worst: ComparedTensor | undefined = (await compare(model, [1], { logits: { data: [1], dims: [1] } })).first;
(await compare(model, [1], file, { layout: 'BHTD', names: (name) => name })).agrees;
export { worst };
if (model.kind === 'decoder') {
  const next: IteratorResult<GeneratedToken, void> = await model.generate([1], { cache: model.kvCache() }).next();
  const distantModel = await wrap<{ open(url: string): Promise<DecoderModel> }>(port).open('url');
  const distantCache = await distantModel.kvCache({ capacity: 10 });
  for await (const { position } of distantModel.generate([1], { cache: distantCache })) position.toFixed();
  next.done;
}

interface Api {
  plan(headDim: number): Promise<RopePlan>;
  turn(options: { plan: RopePlan; x: Float32Array; signal?: AbortSignal }): Float32Array;
  count(to: number, options?: { onProgress?: (at: number) => void }): AsyncGenerator<{ token: number }>;
  field: number;
}
declare const port: MessageEndpoint;
expose({}, port);
expose(async () => ({}), port);
const remote: Remote<Api> = wrap<Api>(new Worker('worker.js', { type: 'module' }));
const distant: Remote<RopePlan> = await remote.plan(64);
const there: Float32Array = await remote.turn({ plan: distant, x: transfer(array0()), signal: AbortSignal.timeout(1) });
for await (const item of remote.count(3, { onProgress: (at) => at })) item.token.toFixed();
for await (const item of await remote.count(3)) item.token.toFixed();
const core = wrap<Ropewalk>(port);
const farPlan = await core.rope({ headDim: 4 });
const farTensor: Remote<Tensor> = await core.tensor([1, 4]);
const turnedThere: Remote<Tensor> = await farPlan.rotate(farTensor, { offset: 1 });
const turnedBack: Float32Array = await farPlan.rotate(new Float32Array(4));
const turnedList: NdArray<Float32Array> = await farPlan.unrotate({ data: turnedBack, shape: [1, 4] });
const farScores = (await core.attention(farTensor, farTensor, farTensor, { returnScores: 'raw' })).scores;
const farCache = await core.kvCache({ kvHeads: 1, headDim: 4, rope: { plan: farPlan } });
await core.attention(turnedList, turnedList, turnedList, { position: { encoding: 'rope', plan: farPlan } });
const length: Float32Array = await (await farCache.append(farTensor, farTensor)).attend(farTensor).then(() => turnedBack);
export { farScores, length, turnedThere };
// @ts-expect-error an object of this thread is no argument of another
farPlan.rotate(x);
await distant.dispose();
await remote.dispose();
function array0() {
  return new Float32Array(64);
}
export { there };
// @ts-expect-error not a function
remote.field;
// @ts-expect-error its arguments are checked
remote.plan('64');
// @ts-expect-error a result of a call in a worker has to be awaited
remote.turn({ plan: distant, x: there }).length;

const info: Info = rw.info();
const memory: Memory = rw.memory();
const plan: RopePlan = rw.rope({ headDim: 64, scaling: { type: 'yarn', factor: 4, originalLength: 4096 } });
const x: Tensor = rw.tensor([8, 128, 64], new Float32Array(8 * 128 * 64));
const turned: Tensor = plan.rotate(x, { offset: 1 });
const array: Float32Array = plan.rotate(new Float32Array(64), { positions: [1n].map(Number) });
const plain: NdArray = plan.unrotate({ data: array, dims: [1, 64] }, { positions: BigInt64Array.of(1n) });
const { cos, sin }: RopeTables = plan.tables({ length: 2 });
const table = rw.sinusoidal({ dim: 8, positions: Int32Array.of(1, 2) });
const flat: Float32Array = rw.sinusoidal({ dim: 8, positions: [1] });
export { flat };
const tensors: AttentionResult<Tensor> = rw.attention(x, x, x, { causal: true, bias: plain });
const plains: AttentionResult<NdArray> = rw.attention(plain, x, x, { mask: { data: [true], shape: [1] } });
const oneStage: Tensor = rw.attention(x, x, x, { returnScores: 'raw' }).scores;
const stages = rw.attention(plain, x, x, { window: { left: 3 }, returnScores: ['raw', 'biased'] }).scores;
const rawScores: NdArray = stages.raw;
const peak: number = memory.peak;
const either = (input: TensorInput) => {
  const one: Tensor | NdArray = rw.silu(input);
  const parts = [rw.gelu(input), rw.softmax(input), rw.layerNorm(input), rw.rmsNorm(input), rw.embed(input, [0])];
  const attended: AttentionResult<Tensor | NdArray, 'raw'> = rw.attention(input, x, x, { returnScores: 'raw' });
  const linear: LinearAttentionResult<Tensor | NdArray> = rw.linearAttention(input, x, x);
  const past: Tensor | NdArray = rw.recurrentAttention(input, x, x).state;
  const passed: Tensor | NdArray = layer.forward(input, { returnScores: 'probabilities' }).scores;
  const cached: AttentionResult<Tensor | NdArray> = rw.kvCache({ kvHeads: 8, headDim: 64 }).append(input, x).attend(input);
  return [one, parts, attended, linear, past, passed, cached, state.append(input, x, x)];
};
export { either };
const layer: AttentionLayer = rw.attentionLayer({ modelDim: 64, heads: 4, position: { encoding: 'rope', base: 5e5 } });
const scores: NdArray | undefined = layer.forward(plain, { returnScores: 'probabilities' }).scores;
const linear: LinearAttentionResult<Tensor> = rw.linearAttention(x, x, x, { position: { encoding: 'rope', plan } });
const least: number | undefined = linear.denominator?.minimum;
const state: LinearAttentionState = rw.linearAttentionState({ headDim: 64, kvHeads: 8, similarity: 'cosine' });
const saved: Uint8Array = state.append(x, x, x) && state.clone().save();
const present: NdArray = rw.recurrentAttention(plain, plain, plain, { updateRule: 'linear' }).state;
const place = new Float32Array(8 * 128 * 64);
const inTensor: Tensor = rw.softmax(plain, { out: x });
const inArray: NdArray = rw.gelu(x, { approximate: 'tanh', out: place });
const biasInTensor: Tensor = rw.alibiBias({ heads: 8, queries: 1, keys: 1, out: x });
const rowsInTensor: Tensor = rw.sinusoidal({ dim: 64, positions: [0], out: x });
const mixed: AttentionResult<NdArray, 'raw', Tensor> = rw.attention(plain, x, x, { returnScores: 'raw', out: x });
const stepped: NdArray = layer.forward(x, { returnScores: 'probabilities', out: place }).out;
const wherever = (out?: Float32Array | Tensor) => {
  const one: Tensor | NdArray<Float32Array> = rw.silu(x, out && { out });
  return one;
};
const settings: GeluOptions = { approximate: 'tanh' };
const settled: Tensor = rw.gelu(x, settings);
export { biasInTensor, inArray, inTensor, mixed, rowsInTensor, settled, stepped, wherever };
const sent = [new Blob([state.save(), x.data()]), new Response(rw.linearAttentionState({ headDim: 4 }).save())];
export { sent };
// Results are in memory of their own, as a Blob takes it.
const [blobQ, blobK] = plan.rotateBoth(place, plain);
export const blobs = [
  new Blob([plan.rotate(place)]), new Blob([plan.unrotate(place, { offset: 1 })]),
  new Blob([plan.rotate(plain).data, plan.rerotate(place, { from: 0, to: 1 })]),
  new Blob([rw.rotaryEmbedding(place, { cos: x, sin: x })]), new Blob([cos, sin, table, plan.tables({ length: 1 }).cos]),
  new Blob([blobQ, blobK.data]), new Blob([rw.sinusoidal({ dim: 8, positions: [1] })]), new Blob([rw.gelu(plain).data]),
  new Blob([rw.binary({ bits: 4, positions: [7] }), rw.alibiSlopes(8), rw.t5Buckets([1])]),
  new Blob([rw.relativeRows({ queries: 1, keys: 1, maxDistance: 1 }), rw.analysis.dotCurve({ dim: 8, distances: [1] })]),
  new Blob([rw.attention(plain, x, x).out.data, oneStageOf(plain).data, layer.forward(plain).out.data]),
  new Blob([raw, wide, await file.tensor('w', { as: 'float32' })]), new Blob([rw.kvCache({ kvHeads: 1, headDim: 2 }).positions()]),
  new Blob([plan.rotate(place, { out: place }), rw.gelu(x, { out: place }).data]),
];
function oneStageOf(from: NdArray) {
  return rw.attention(from, x, x, { returnScores: 'raw', out: place }).scores;
}
// A result in memory of the caller's is of the caller's type.
declare const anyMemory: Float32Array;
declare const anyOptions: RotateOptions;
export const placed: Float32Array[] = [
  plan.rotate(place, { out: anyMemory }), plan.rotate(place, anyOptions), plan.rotate(plain, anyOptions).data,
  rw.gelu(x, { out: anyMemory }).data, ...plan.rotateBoth(place, place, { out: [anyMemory, place] }),
];
export const inAnyMemory: NdArray<Float32Array> = rw.gelu(x, { out: anyMemory });
const disposable: Disposable = layer;
const error: Error = new StateError('text');
export {
  cos, disposable, error, info, least, memory, plains, present, RangeErrorOf, saved, scores, sin, table, tensors, turned,
};

// @ts-expect-error an address as text is for url
await loadExternal({ wasm: '/core.wasm' });
// @ts-expect-error the main entry contains the file
await load({ url: '/core.wasm' });
// @ts-expect-error a size is a number
rw.rope({ headDim: '64' });
// @ts-expect-error a plan needs a size
rw.rope({});
// @ts-expect-error a misspelt option
rw.rope({ headDim: 4, theta: 1 });
// @ts-expect-error yarn needs the original length
rw.rope({ headDim: 4, scaling: { type: 'yarn', factor: 2 } });
// @ts-expect-error a field of another kind of scaling
rw.rope({ headDim: 4, scaling: { type: 'linear', factor: 2, betaFast: 1 } });
// @ts-expect-error data is a Float32Array
rw.tensor([2], [1, 2]);
// @ts-expect-error plain arrays give plain arrays
const wrong: AttentionResult<Tensor> = rw.attention(plain, plain, plain);
// @ts-expect-error a result is a Float32Array or a tensor
rw.softmax(x, { out: [1] });
// @ts-expect-error a result in an array is no tensor
const misplaced: Tensor = rw.softmax(x, { out: place });
// @ts-expect-error a misspelt option beside out
rw.gelu(x, { out: place, aproximate: 'tanh' });
// @ts-expect-error an encoding that has no linear form
rw.linearAttention(x, x, x, { position: { encoding: 'alibi' } });
// @ts-expect-error no scores were asked for
rw.attention(x, x, x).scores;
// @ts-expect-error a stage that was not asked for
rw.attention(x, x, x, { returnScores: ['raw'] }).scores.biased;
// @ts-expect-error an unknown stage
rw.attention(x, x, x, { returnScores: 'logits' });
// @ts-expect-error an unknown encoding
rw.attentionLayer({ modelDim: 4, heads: 1, position: { encoding: 'other' } });
export { misplaced, wrong };
`;
const names = `
export { ArgumentRangeError as RangeErrorOf, load, StateError } from 'ropewalk';
export type {
  AttentionLayer, AttentionResult, Info, LinearAttentionResult, LinearAttentionState, Memory, NdArray, RopePlan, Ropewalk, Tensor,
} from 'ropewalk';
`;

const options = {
  target: 'es2022',
  lib: ['es2022', 'dom'],
  types: [],
  strict: true,
  noEmit: true,
  skipLibCheck: false,
  verbatimModuleSyntax: true,
  noUncheckedIndexedAccess: true,
};
export const resolutions = {
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
};
/** Compiles the program by the compiler in the folder `typescript`; there must be no message. */
export async function compile(t, typescript, resolution, exact) {
  const compilerOptions = { ...options, ...resolutions[resolution], exactOptionalPropertyTypes: exact };
  const folder = folderWith(t, {
    'package.json': JSON.stringify({ type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    'consumer.ts': consumer,
    'names.ts': names,
  });
  const installed = join(folder, 'node_modules', 'ropewalk');
  cpSync(join(root, 'dist'), join(installed, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(installed, 'package.json'));
  const { stdout } = await run([join(typescript, 'bin', 'tsc'), '-p', folder], { cwd: folder }).catch((error) => error);
  assert.equal(stdout, '');
}
