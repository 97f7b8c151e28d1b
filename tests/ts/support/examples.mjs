// The examples in the documentation of the package, and what the names in them stand for.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './node.mjs';

const sources = join(root, 'bindings', 'ts');

/** Every `@example` of the package: { name, code }, where name is the file and what it documents. */
export function examples() {
  const files = readdirSync(sources, { recursive: true }).map((file) => file.replaceAll('\\', '/'));
  return files
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .flatMap((file) => examplesOf(file, readFileSync(join(sources, file), 'utf8')));
}

function examplesOf(file, source) {
  return [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(.*)/g)].flatMap(([, comment, declaration]) => {
    const text = comment.replace(/^\s*\* ?/gm, '');
    const [, symbol] = /^(?:(?:export|abstract|async|class|function\*?|const)\s+)*(\w+)/.exec(declaration) ?? [];
    const codes = text.split(/^@example\b/m).slice(1);
    return codes.map((part) => ({ name: `${file}: ${symbol}`, code: part.split(/^@\w/m)[0].trim() }));
  });
}

// What a name stands for where an example does not say it, as statements; they may use other names.
const names = {
  rw: `import { load } from 'ropewalk';\nconst rw = await load();`,
  floats: 'const floats = (size: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(i));',
  array: 'const array = (...shape: number[]) => ({ data: floats(shape.reduce((a, b) => a * b, 1)), shape });',
  tensor: 'const tensor = (...shape: number[]) => rw.tensor(shape, array(...shape).data);',
  q: 'const q = tensor(8, 16, 64);',
  k: 'const k = tensor(8, 16, 64);',
  v: 'const v = tensor(8, 16, 64);',
  q1: 'const q1 = tensor(8, 1, 64);',
  k1: 'const k1 = tensor(8, 1, 64);',
  v1: 'const v1 = tensor(8, 1, 64);',
  plan: 'const plan = rw.rope({ headDim: 64 });',
  ropeScores: `const ropeScores = rw.attention(q, k, v, {
  position: { encoding: 'rope', plan: rw.rope({ headDim: 64, base: 500000 }) },
  returnScores: 'raw',
}).scores;`,
  cache: 'const cache = rw.kvCache({ kvHeads: 8, headDim: 64 }).append(k, v);',
  signal: 'const { signal } = new AbortController();',
  onProgress: 'const onProgress = () => {};',
  show: 'const show = (token: number) => token.toFixed();',
  // Of the model in the working folder.
  readFile: `import { readFile } from 'node:fs/promises';`,
  config: `const config = JSON.parse(await readFile('config.json', 'utf8'));`,
  model: `import type { DecoderModel } from 'ropewalk/models';
const model = (await loadModel(rw, { config, weights: 'model.safetensors' })) as DecoderModel;`,
  loadModel: `import { loadModel } from 'ropewalk/models';`,
  openSafetensors: `import { openSafetensors } from 'ropewalk/models';`,
  openGguf: `import { openGguf } from 'ropewalk/models';`,
  file: `const file = await openSafetensors(rw, 'https://example.org/model.safetensors');`,
  ids: 'const ids = [1, 2, 3];',
  prompt: 'const prompt = [1, 2, 3];',
  question: 'const question = [4, 5];',
  next: 'const next = 4;',
};

// Those of training, which has an instance of its own.
function trainingNames(symbols) {
  const instance = {
    rw: `import { load } from 'ropewalk/training';\nconst rw = await load();`,
    main: `import { load as loadMain } from 'ropewalk';\nconst main = await loadMain();`,
  };
  const sizes = `{ layers: 1, modelDim: 8, heads: 2, vocab: 16, context: 32, position: { encoding: 'rope' } }`;
  const names = { ...instance, trainer: `const trainer = rw.trainer(${sizes});` };
  return Object.fromEntries(
    symbols.map((symbol) => [
      `training/trainer.ts: ${symbol}`,
      symbol === 'Trainer' ? { ...instance, ids: 'const ids = new Int32Array(8 * 32);' } : names,
    ]),
  );
}

// The same for one example: { name of the example: { name: statements } }. `folder` has its model, if it is no decoder;
// `end` comes after it.
const own = {
  'training/tasks.ts: copyTask': { copyTask: `import { copyTask } from 'ropewalk/training';` },
  'training/characters.ts: charactersTask': {
    charactersTask: `import { charactersTask } from 'ropewalk/training';`,
  },
  ...trainingNames(['Trainer', 'step', 'evaluate', 'capture', 'parameters', 'save', 'exportModel']),
  'rope/rope.ts: rotate': { data: 'const { data } = array(2, 8, 3, 64);' },
  'rope/rope.ts: rotateBoth': {
    plan: 'const plan = rw.rope({ headDim: 128 });',
    q: 'const q = tensor(32, 1, 128);',
    k: 'const k = tensor(8, 1, 128);',
    data: 'const { data } = array(2, 8, 3, 128);',
    keys: 'const { data: keys } = array(2, 2, 3, 128);',
  },
  'rope/rope.ts: rerotate': {
    keys: 'const keys = tensor(8, 16, 64);',
    longPlan: `const longPlan = rw.rope({ headDim: 64, scaling: { type: 'linear', factor: 2 } });`,
  },
  'attention/cope.ts: copeBias': {
    copeBias: `import { copeBias } from 'ropewalk';`,
    positions: 'const positions = floats(32 * 64);',
  },
  'attention/transformer-xl.ts: transformerXlAttention': {
    transformerXlAttention: `import { transformerXlAttention } from 'ropewalk';`,
    rNet: 'const rNet = floats(8 * 64 * 512);',
    contentBias: 'const contentBias = array(8, 64);',
    positionBias: 'const positionBias = array(8, 64);',
  },
  'attention/deberta.ts: debertaAttention': {
    debertaAttention: `import { debertaAttention } from 'ropewalk';`,
    embeddings: 'const embeddings = array(2 * 256, 8 * 64);',
    keyProject: 'const keyProject = rw.linear({ weight: array(8 * 64, 8 * 64) });',
    queryProject: 'const queryProject = rw.linear({ weight: array(8 * 64, 8 * 64) });',
  },
  'encodings/axial.ts: axialTable': {
    axialTable: `import { axialTable } from 'ropewalk';`,
    rows: 'const rows = floats(24 * 64);',
    columns: 'const columns = floats(32 * 64);',
    patches: 'const patches = floats(24 * 32 * 64);',
  },
  'rope/mixed.ts: mixedRope': {
    mixedRope: `import { mixedRope } from 'ropewalk';`,
    learned: 'const learned = floats(2 * 8 * 32);',
  },
  'rope/mixed.ts: rotate': {
    mixedRope: `import { mixedRope } from 'ropewalk';`,
    rope: 'const rope = mixedRope(rw, { frequencies: array(2, 8, 32), positions: { length: 16 } });',
  },
  'rope/mrope.ts: mropePositions': {
    mropePositions: `import { mropePositions } from 'ropewalk';`,
    plan: `const plan = rw.rope({ headDim: 64, axes: { layout: 'sections', sections: [16, 8, 8] } });`,
    q: 'const q = tensor(8, 14, 64);',
  },
  'rope/pairing.ts: permutePairing': {
    permutePairing: `import { permutePairing } from 'ropewalk';`,
    meta: 'const meta = { wk: floats(8 * 128 * 16) };',
  },
  'rope/pairing.ts: convertPairing': {
    convertPairing: `import { convertPairing } from 'ropewalk';`,
    cache: 'const cache = floats(8 * 128);',
  },
  'checkpoints/config.ts: ropeFromConfig': { ropeFromConfig: `import { ropeFromConfig } from 'ropewalk';` },
  'checkpoints/runtimes.ts: ropeFromGgml': { ropeFromGgml: `import { ropeFromGgml } from 'ropewalk';` },
  'checkpoints/runtimes.ts: ropeFromMlx': { ropeFromMlx: `import { ropeFromMlx } from 'ropewalk';` },
  'runtime/tensor.ts: Tensor': { values: 'const values = floats(65536);' },
  'ropewalk.ts: detectPairing': { scores: 'const scores = { data: ropeScores.data(), shape: [8, 16, 16] };' },
  'ropewalk.ts: rotaryEmbedding': {
    data: 'const { data } = array(1, 4, 3, 8);',
    cos: 'const cos = array(3, 4);',
    sin: 'const sin = array(3, 4);',
  },
  'ropewalk.ts: learned': {
    tokens: 'const tokens = floats(10 * 64);',
    weights: 'const weights = floats(512 * 64);',
  },
  'ropewalk.ts: extendLearned': { weights: 'const weights = floats(512 * 64);' },
  'ropewalk.ts: fireBias': {
    hiddenWeights: 'const hiddenWeights = array(32);',
    hiddenBias: 'const hiddenBias = array(32);',
    outWeights: 'const outWeights = array(8, 32);',
    outBias: 'const outBias = array(8);',
  },
  'ropewalk.ts: t5Bias': { weights: 'const weights = floats(32 * 8);' },
  'ropewalk.ts: restoreKvCache': {
    buffer: 'const buffer = rw.kvCache({ kvHeads: 8, headDim: 64, rope: { plan } }).append(k, v).save();',
  },
  'ropewalk.ts: layerNorm': {
    hidden: 'const hidden = floats(10 * 768);',
    weight: 'const weight = floats(768);',
    bias: 'const bias = floats(768);',
  },
  'ropewalk.ts: rmsNorm': { hidden: 'const hidden = floats(10 * 2048);', weight: 'const weight = floats(2048);' },
  'ropewalk.ts: softmax': { scores: 'const scores = ropeScores;' },
  'ropewalk.ts: embed': { weights: 'const weights = floats(30522 * 768);' },
  'ropewalk.ts: recurrentAttention': {
    decay: 'const decay = rw.tensor([8, 16]);',
    decay1: 'const decay1 = rw.tensor([8, 1]);',
  },
  'ropewalk.ts: linear': { w: 'const w = new Uint16Array(512 * 768);', x: 'const x = tensor(128, 768);' },
  'ropewalk.ts: encoderLayer': {
    ...layerWeights(768, 768, 768, 3072, ['attentionNorm', 'feedForwardNorm']),
    batch: 'const batch = 2;',
    tokens: 'const tokens = 5;',
    padding: 'const padding = new Uint8Array(batch * tokens).fill(1);',
    x: 'const x = tensor(batch, tokens, 768);',
  },
  'ropewalk.ts: decoderLayer': {
    ...layerWeights(576, 576, 192, 1536, ['attentionNorm', 'feedForwardNorm', 'gate']),
    x: 'const x = tensor(5, 576);',
  },
  'layers/transformer-layer.ts: TransformerLayer': {
    ...layerWeights(576, 576, 192, 1536, ['attentionNorm', 'feedForwardNorm', 'gate']),
    x: 'const x = tensor(5, 576);',
  },
  'layers/attention-layer.ts: AttentionLayer': {
    data: 'const { data } = array(1, 10, 64);',
    x: 'const x = tensor(1, 10, 64);',
  },
  'layers/layer.ts: kvCache': {
    layer: 'const layer = rw.attentionLayer({ modelDim: 64, heads: 4, causal: true });',
    chunks: 'const chunks = [tensor(1, 10, 64), tensor(1, 3, 64)];',
  },
  'layers/linear.ts: Linear': {
    w: 'const w = floats(3072 * 768);',
    bias: 'const bias = floats(3072);',
    x: 'const x = tensor(1, 128, 768);',
    row: 'const row = floats(768);',
    out: 'const out = new Float32Array(3072);',
  },
  'layers/linear.ts: apply': {
    up: 'const up = rw.linear({ weight: { data: floats(3072 * 768), shape: [3072, 768] } });',
    x: 'const x = tensor(1, 768);',
  },
  'kv-cache/kv-cache.ts: KvCache': {
    promptKeys: 'const promptKeys = tensor(2, 80, 64);',
    promptValues: 'const promptValues = tensor(2, 80, 64);',
    promptQueries: 'const promptQueries = tensor(2, 80, 64);',
    q: 'const q = tensor(2, 1, 64);',
    k: 'const k = tensor(2, 1, 64);',
    v: 'const v = tensor(2, 1, 64);',
  },
  'kv-cache/kv-cache.ts: append': {
    plan: `const plan = rw.rope({ headDim: 64, axes: { layout: 'sections', sections: [16, 8, 8] } });`,
    cache: 'const cache = rw.kvCache({ kvHeads: 8, headDim: 64, rope: { plan } });',
    t: 'const t = Array.from({ length: 16 }, (_, i) => 9000 + i);',
    h: 'const h = t;',
    w: 'const w = t;',
  },
  'kv-cache/kv-cache.ts: merge': {
    cache: 'const cache = rw.kvCache({ kvHeads: 8, headDim: 64, rope: { plan } });',
    document: 'const document = rw.kvCache({ kvHeads: 8, headDim: 64, rope: { plan } }).append(k, v);',
    other: 'const other = rw.kvCache({ kvHeads: 8, headDim: 64, rope: { plan } }).append(k, v);',
  },
  'linear-attention/state.ts: save': {
    sameOptions: 'const sameOptions = { headDim: 64, kvHeads: 8 };',
    state: 'const state = rw.linearAttentionState(sameOptions);\nstate.append(q, k, v);',
  },
  'encodings/analysis.ts: decayBound': {
    q: 'const q = floats(64);',
    k: 'const k = floats(64);',
  },
  'encodings/analysis.ts: pairwise': {
    codes: 'const codes = rw.binary({ bits: 4, positions: { length: 16 } });',
  },
  'gguf/tokenizer.ts: tokenizerFromGguf': {
    file: `const entries: readonly [string, unknown][] = [
  ['tokenizer.ggml.model', 'gpt2'],
  ['tokenizer.ggml.pre', 'gpt-2'],
  ['tokenizer.ggml.tokens', [...'thesunri\u0120']],
  ['tokenizer.ggml.merges', []],
];
const file = { metadata: new Map(entries) };`,
    // Its own declarations are not for Node's resolution.
    Tokenizer: `class Tokenizer {
  constructor(readonly json: object, readonly config: object) {}
  encode = (text: string) => ({ ids: Array.from(text, (_, i) => i) });
}`,
  },
  'models/compare.ts: compare': { compare: `import { compare } from 'ropewalk/models';` },
  'models/read-config.ts: readModelConfig': { readModelConfig: `import { readModelConfig } from 'ropewalk/models';` },
  'models/decoder.ts: restoreKvCache': { cache: 'const cache = model.kvCache();' },
  'models/encoder.ts: EncoderModel': { folder: 'bert' },
  'models/encoder-decoder.ts: EncoderDecoderModel': { folder: 't5-both' },
  ...Object.fromEntries(
    ['encode', 'forward', 'forwardAsync', 'generate'].map((name) => [
      `models/encoder-decoder.ts: ${name}`,
      {
        ...{ folder: 't5-both', model: both(), text: `const text = 'to translate';` },
        tokenizer: 'const tokenizer = { encode: (words: string) => ({ ids: [words.length, 1] }) };',
      },
    ]),
  ),
  'models/encoder.ts: withRope': { folder: 'roformer', model: encoder() },
  'models/encoder.ts: embedText': { folder: 'bert', model: encoder() },
  'models/encoder.ts: forwardAsync': { folder: 'bert', model: encoder() },
  'models/measure.ts: perplexity': { perplexity: `import { perplexity } from 'ropewalk/models';` },
  'models/measure.ts: lengthCurve': { lengthCurve: `import { lengthCurve } from 'ropewalk/models';` },
  'models/replace-encoding.ts: replaceEncoding': {
    replaceEncoding: `import { replaceEncoding } from 'ropewalk/models';`,
  },
  'sampling/json.ts: firstJson': {
    tokenizer: 'const tokenizer = { decode: (tokens: readonly number[]) => tokens.join() };',
  },
  'sources/tensor-file.ts: readInto': { file: `const file = await openSafetensors(rw, 'table.safetensors');` },
  'sources/tensor-file.ts: stream': { crypto: `import * as crypto from 'node:crypto';` },
  'worker/messages.ts: transfer': {
    remote: `interface Opener {
  openModel(bytes: Uint8Array): number;
}
const remote = wrap<Opener>(new Worker(new URL('./opener.js', import.meta.url), { type: 'module' }));`,
    wrap: `import { transfer, wrap } from 'ropewalk/worker';`,
    bytes: 'const bytes = new Uint8Array(8);',
    end: 'await remote.dispose();',
  },
  'worker/wrap.ts: wrap': {
    WorkerApi: `import type { DecoderModel, LoadModelOptions } from 'ropewalk/models';
interface WorkerApi {
  open(options: LoadModelOptions): Promise<DecoderModel>;
}`,
    url: `const url = 'https://example.org/model.safetensors';`,
  },
};

function layerWeights(m, q, kv, n, others) {
  const shapes = { query: m * q, key: m * kv, value: m * kv, output: m * q, up: m * n, down: m * n };
  for (const name of others) shapes[name] = name === 'gate' ? m * n : m;
  const fields = Object.entries(shapes).map(([name, size]) => `${name}: floats(${size})`);
  return { weights: `const weights = { ${fields.join(', ')} };` };
}

function both() {
  return `import type { EncoderDecoderModel } from 'ropewalk/models';
const model = (await loadModel(rw, { config, weights: 'model.safetensors' })) as EncoderDecoderModel;`;
}

function encoder() {
  return `import type { EncoderModel } from 'ropewalk/models';
const model = (await loadModel(rw, { config, weights: 'model.safetensors' })) as EncoderModel;`;
}

const mentions = (code, name) => new RegExp(`(?<![.\\w$'/])${name}(?![\\w$'/]|:(?!:))`).test(code);

// Names that code declares itself.
function declaredIn(code) {
  const lists = [...code.matchAll(/(?:const|using|let|import)\s+(?:type\s+)?([{[][^}\]]*[}\]]|\w+)/g)];
  return new Set(lists.flatMap(([, list]) => list.match(/\w+/g) ?? []));
}

/** The names of examples that need something of their own. */
export const special = Object.keys(own);

/** The folder that an example runs in. */
export const folderOf = (name) => own[name]?.folder ?? 'llama';

/** An example as a module of TypeScript: what its names stand for, then the example. */
export function moduleOf({ name, code }) {
  const { folder, end = '', ...given } = own[name] ?? {};
  const known = { ...names, ...given };
  const declared = declaredIn(code);
  const used = new Set();
  const statements = [];
  const need = (text) => {
    for (const [each, statement] of Object.entries(known)) {
      if (declared.has(each) || used.has(each) || !mentions(text, each)) continue;
      used.add(each);
      need(statement);
      statements.push(statement);
    }
  };
  need(code);
  return `${statements.join('\n')}\n${code}\n${end}\nexport {};\n`;
}
