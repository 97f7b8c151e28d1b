// The same decoder as an ONNX graph for onnxruntime-web, which does the same work with its operators. Its CPU kernels
// multiply float32, so the weights are widened; its API requires keys and values as inputs and outputs of every step.
import { onnxruntimeWeb } from '../../peers/libraries.mjs';
import { model } from '../../peers/onnx.mjs';
import { decodedTokens, promptOf, promptTokens, seconds } from './work.mjs';

const ms = 'com.microsoft';

function transposed(data, rows, columns) {
  const out = new Float32Array(data.length);
  for (let r = 0; r < rows; ++r) for (let c = 0; c < columns; ++c) out[c * rows + r] = data[r * columns + c];
  return { data: out, shape: [columns, rows] };
}

function tables({ rope_theta: base }, D, length) {
  const make = (f) => ({
    data: Float32Array.from({ length: (length * D) / 2 }, (_, i) => {
      const [position, pair] = [Math.floor(i / (D / 2)), i % (D / 2)];
      return f(position * base ** ((-2 * pair) / D));
    }),
    shape: [length, D / 2],
  });
  return { cos: make(Math.cos), sin: make(Math.sin) };
}

const matmul = (x, weight, out) => ({ op: 'MatMul', in: [x, weight], out });

function layerNodes(i, { num_attention_heads: H, num_key_value_heads: G, rms_norm_eps }) {
  const n = (name) => `${name}.${i}`;
  const norm = (x, weight, out) => ({
    op: 'RMSNormalization',
    in: [x, n(weight)],
    out: n(out),
    epsilon: { float: rms_norm_eps },
  });
  return [
    norm(n('x'), 'norm1', 'normed'),
    ...['q', 'k', 'v'].map((p) => matmul(n('normed'), n(`${p}Weight`), n(p))),
    {
      op: 'GroupQueryAttention',
      domain: ms,
      in: [n('q'), n('k'), n('v'), n('pastK'), n('pastV'), 'last', 'total', 'cos', 'sin'],
      out: [n('context'), n('presentK'), n('presentV')],
      ...{ num_heads: H, kv_num_heads: G, do_rotary: 1 },
    },
    matmul(n('context'), n('oWeight'), n('attended')),
    { op: 'Add', in: [n('x'), n('attended')], out: n('hidden') },
    norm(n('hidden'), 'norm2', 'normed2'),
    matmul(n('normed2'), n('gateWeight'), n('gate')),
    matmul(n('normed2'), n('upWeight'), n('up')),
    { op: 'Sigmoid', in: [n('gate')], out: n('sigmoid') },
    { op: 'Mul', in: [n('gate'), n('sigmoid')], out: n('silu') },
    { op: 'Mul', in: [n('silu'), n('up')], out: n('wide') },
    matmul(n('wide'), n('downWeight'), n('fed')),
    { op: 'Add', in: [n('hidden'), n('fed')], out: `x.${i + 1}` },
  ];
}

// Weights by the names of the graph, widened, [in, out].
async function layerConstants(i, file, { hidden_size: M, intermediate_size: N }) {
  const at = `model.layers.${i}.`;
  const floats = (name) => file.tensor(`${at}${name}.weight`, { as: 'float32' });
  const matrix = async (name, columns) => {
    const data = await floats(name);
    return transposed(data, data.length / columns, columns);
  };
  const vector = async (name) => ({ data: await floats(name), shape: [M] });
  return Object.fromEntries(
    await Promise.all(
      [
        ['norm1', vector('input_layernorm')],
        ['norm2', vector('post_attention_layernorm')],
        ...['q', 'k', 'v', 'o'].map((p) => [`${p}Weight`, matrix(`self_attn.${p}_proj`, M)]),
        ...['gate', 'up'].map((p) => [`${p}Weight`, matrix(`mlp.${p}_proj`, M)]),
        ['downWeight', matrix('mlp.down_proj', N)],
      ].map(async ([name, made]) => [`${name}.${i}`, await made]),
    ),
  );
}

async function graphOf(file, config) {
  const { hidden_size: M, num_hidden_layers: L, vocab_size: V, num_key_value_heads: G } = config;
  const D = M / config.num_attention_heads;
  const tokens = await file.tensor('model.embed_tokens.weight', { as: 'float32' });
  const layers = Array.from({ length: L }, (_, i) => i);
  const constants = {
    tokens: { data: tokens, shape: [V, M] },
    head: transposed(tokens, V, M),
    norm: { data: await file.tensor('model.norm.weight', { as: 'float32' }), shape: [M] },
    ...tables(config, D, promptTokens + decodedTokens),
  };
  for (const i of layers) Object.assign(constants, await layerConstants(i, file, config));
  const past = { shape: [1, G, 'past', D] };
  const present = { shape: [1, G, 'all', D] };
  const both = (name, value) => layers.flatMap((i) => ['K', 'V'].map((part) => [`${name}${part}.${i}`, value]));
  return model({
    nodes: [
      { op: 'Gather', in: ['tokens', 'ids'], out: 'x.0' },
      ...layers.flatMap((i) => layerNodes(i, config)),
      { op: 'Gather', in: [`x.${L}`, 'end'], out: 'xEnd', axis: 1 },
      { op: 'RMSNormalization', in: ['xEnd', 'norm'], out: 'normed', epsilon: { float: config.rms_norm_eps } },
      matmul('normed', 'head', 'logits'),
    ],
    inputs: {
      ids: { type: 'int64', shape: [1, 'tokens'] },
      ...{
        end: { type: 'int64', shape: [1] },
        last: { type: 'int32', shape: [1] },
        total: { type: 'int32', shape: [1] },
      },
      ...Object.fromEntries(both('past', past)),
    },
    outputs: { logits: { shape: [1, 1, V] }, ...Object.fromEntries(both('present', present)) },
    constants,
  });
}

/** Gives { title, loadSeconds, heap, logits(ids), prefill(), decode() }. */
export async function openOnnxruntime({ file, config, paths }) {
  const ort = await onnxruntimeWeb();
  ort.env.logLevel = 'error';
  ort.env.wasm.numThreads = 1;
  if (paths) ort.env.wasm.wasmPaths = paths.onnxruntime;
  let graph = await graphOf(file, config);
  let session;
  const loadSeconds = await seconds(async () => {
    session = await ort.InferenceSession.create(graph, { executionProviders: ['wasm'] });
  });
  graph = undefined;
  const { hidden_size: M, num_hidden_layers: L, num_key_value_heads: G, num_attention_heads: H } = config;
  const integer = (kind, values) =>
    new ort.Tensor(
      kind,
      (kind === 'int64' ? BigInt64Array : Int32Array).from(values, kind === 'int64' ? BigInt : Number),
      [values.length],
    );
  const empty = () => new ort.Tensor('float32', new Float32Array(0), [1, G, 0, M / H]);
  async function run(ids, before, length) {
    const feeds = {
      ids: integer('int64', ids).reshape([1, ids.length]),
      end: integer('int64', [ids.length - 1]),
      last: integer('int32', [length + ids.length - 1]),
      total: integer('int32', [length + ids.length]),
    };
    for (let i = 0; i < L; ++i) {
      for (const part of ['K', 'V']) feeds[`past${part}.${i}`] = before?.[`present${part}.${i}`] ?? empty();
    }
    return session.run(feeds);
  }
  const prompt = promptOf(config);
  let read;
  return {
    title: `onnxruntime-web ${ort.env.versions.web}, float32 weights`,
    loadSeconds,
    logits: async (ids) => (await run(ids, undefined, 0)).logits.data,
    async prefill() {
      read = await run(prompt, undefined, 0);
    },
    async decode() {
      let [state, next] = [read, 1];
      for (let i = 0; i < decodedTokens; ++i) {
        state = await run([next], state, promptTokens + i);
        const { data } = state.logits;
        next = data.indexOf(data.reduce((a, b) => Math.max(a, b)));
      }
    },
  };
}
