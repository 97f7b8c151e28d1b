// The attention operators of onnxruntime-web against `attention`: ONNX Attention, MultiHeadAttention and
// GroupQueryAttention. Every query has at least one visible key: results for rows without any differ between programs.
import { test } from 'node:test';
import { swapHeadsAndTokens } from '../ts/support/arrays.mjs';
import { bool, everyCase, int32, onnxruntime } from './cases.mjs';

function sizes(draw) {
  const kvHeads = draw.pick(1, 2, 3);
  const queries = draw.integer(1, 9);
  return {
    batch: draw.integer(1, 2),
    kvHeads,
    heads: kvHeads * draw.pick(1, 2, 4),
    queries,
    keys: queries + draw.integer(0, 12),
    headDim: draw.pick(1, 4, 7, 8, 16, 32),
    valueDim: draw.pick(1, 3, 8, 16),
  };
}

// Broadcasts to [B, H, Tq, Tk]; the first key is always kept, so with queries from 0 every row keeps one.
function maskOf(draw, { batch, heads, queries, keys }) {
  const shape = [draw.pick(1, batch), draw.pick(1, heads), queries, keys];
  const { data } = draw.numbers(...shape);
  return { shape, data, keep: Uint8Array.from(data, (v, i) => Number(i % keys === 0 || v > -0.3)) };
}

const scaleOf = (draw) => draw.pick(undefined, 0.25, 1.5);
const float = (value) => (value === undefined ? undefined : { float: value });
const given = (attributes) => Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

// Cached keys and values come first, and the queries stand behind them.
function withPast(draw, what, inputs) {
  const past = draw.integer(1, 9);
  const { batch, kvHeads, headDim, valueDim } = what;
  inputs.pastKeys = draw.numbers(batch, kvHeads, past, headDim);
  inputs.pastValues = draw.numbers(batch, kvHeads, past, valueDim);
  what.past = past;
}

// [.., P, D] and [.., T, D] to [.., P + T, D]
function joined(past, more) {
  const [batch, heads, before, dim] = past.shape;
  const after = more.shape[2];
  const data = new Float32Array(past.data.length + more.data.length);
  for (let row = 0; row < batch * heads; ++row) {
    const at = row * (before + after) * dim;
    data.set(past.data.subarray(row * before * dim, (row + 1) * before * dim), at);
    data.set(more.data.subarray(row * after * dim, (row + 1) * after * dim), at + before * dim);
  }
  return { data, shape: [batch, heads, before + after, dim] };
}

async function onnxAttention(draw, { cached }) {
  const what = sizes(draw);
  const { batch, heads, kvHeads, queries, headDim, valueDim } = what;
  if (cached) what.keys = queries;
  const inputs = {
    q: draw.numbers(batch, heads, queries, headDim),
    k: draw.numbers(batch, kvHeads, what.keys, headDim),
    v: draw.numbers(batch, kvHeads, what.keys, valueDim),
  };
  const options = { causal: draw.pick(true, false), scale: scaleOf(draw), softcap: draw.pick(undefined, 0.5, 20) };
  const { q, k, v } = inputs;
  const sides = { k, v };
  if (cached) {
    withPast(draw, what, inputs);
    sides.k = joined(inputs.pastKeys, k);
    sides.v = joined(inputs.pastValues, v);
  } else options.queryOffset = 0;
  const kind = draw.pick('none', 'keep', 'bias');
  if (kind !== 'none') {
    const { data, shape, keep } = maskOf(draw, { ...what, keys: sides.k.shape[2] });
    inputs.mask = kind === 'keep' ? bool(keep, shape) : { data, shape };
    if (kind === 'keep') options.mask = { data: keep, shape };
    else options.bias = { data, shape };
  }
  const node = {
    op: 'Attention',
    in: ['q', 'k', 'v', kind === 'none' ? '' : 'mask', ...(cached ? ['pastKeys', 'pastValues'] : [])],
    out: cached ? ['y', 'allKeys', 'allValues'] : 'y',
    ...given({ is_causal: Number(options.causal), scale: float(options.scale), softcap: float(options.softcap) }),
  };
  const chosen = given(options);
  return {
    ours: (rw) => rw.attention(q, sides.k, sides.v, chosen).out.data,
    out: await onnxruntime(node, inputs),
    what: { ...what, ...chosen, kind },
  };
}

// [B, H, T, D] as [B, T, H * D].
function packed({ data, shape }) {
  const [batch, heads, tokens, dim] = shape;
  return { data: swapHeadsAndTokens(data, shape), shape: [batch, tokens, heads * dim] };
}

async function multiHeadAttention(draw) {
  const drawn = sizes(draw);
  const heads = draw.pick(1, 2, 4);
  const causal = draw.pick(true, false);
  const what = { ...drawn, heads, kvHeads: heads, keys: causal ? drawn.queries : drawn.keys, causal };
  const { batch, queries, keys, headDim, valueDim } = what;
  const side = (tokens, dim) => draw.numbers(batch, heads, tokens, dim);
  const [q, k, v] = [side(queries, headDim), side(keys, headDim), side(keys, valueDim)];
  const inputs = { q: packed(q), k: packed(k), v: packed(v) };
  const options = { causal, scale: scaleOf(draw) };
  const kind = draw.pick('none', 'bias', 'lengths');
  if (kind === 'bias') {
    options.bias = draw.numbers(draw.pick(1, batch), draw.pick(1, heads), queries, keys);
    inputs.bias = options.bias;
  } else if (kind === 'lengths') {
    const lengths = Array.from({ length: batch }, () => draw.integer(1, keys));
    inputs.lengths = int32(lengths, [batch]);
    options.keyLengths = lengths;
    options.queryOffset = 0;
  }
  const node = {
    op: 'MultiHeadAttention',
    domain: 'com.microsoft',
    in: ['q', 'k', 'v', '', kind === 'lengths' ? 'lengths' : '', kind === 'bias' ? 'bias' : ''],
    out: 'y',
    ...given({ num_heads: heads, unidirectional: Number(causal), scale: float(options.scale) }),
  };
  const chosen = given(options);
  return {
    ours: (rw) => packed(rw.attention(q, k, v, chosen).out).data,
    out: await onnxruntime(node, inputs),
    what: { ...what, ...chosen, kind },
  };
}

const rows = 32;

// Causal, with RoPE inside, grouped heads, a left window, cached keys that are turned already.
async function groupQueryAttention(draw, rw) {
  const drawn = sizes(draw);
  const headDim = draw.pick(16, 32);
  const past = draw.pick(0, draw.integer(1, 9));
  const what = { ...drawn, headDim, past, window: draw.pick(-1, 1, 4), softcap: draw.pick(undefined, 0.5, 20) };
  if (past > 0 && what.queries > 1) what.batch = 1; // onnxruntime takes no more
  const { batch, heads, kvHeads, queries, window, softcap } = what;
  const pairing = draw.pick('half', 'interleaved');
  const turns = draw.pick(true, false);
  const side = (count, tokens) => draw.numbers(batch, count, tokens, headDim);
  const [q, k, v] = [side(heads, queries), side(kvHeads, queries), side(kvHeads, queries)];
  const inputs = { q: packed(q), k: packed(k), v: packed(v) };
  const cached = { keys: side(kvHeads, past), values: side(kvHeads, past) };
  if (past > 0) Object.assign(inputs, { pastKeys: cached.keys, pastValues: cached.values });
  inputs.last = int32(new Array(batch).fill(past + queries - 1), [batch]);
  inputs.total = int32([past + queries], [1]);
  if (turns) {
    const plan = rw.rope({ headDim, pairing });
    const { cos, sin } = plan.tables({ length: rows });
    plan.dispose();
    inputs.cos = { data: cos, shape: [rows, headDim / 2] };
    inputs.sin = { data: sin, shape: [rows, headDim / 2] };
  }
  const scale = scaleOf(draw);
  const node = {
    op: 'GroupQueryAttention',
    domain: 'com.microsoft',
    in: [
      ...['q', 'k', 'v', past > 0 ? 'pastKeys' : '', past > 0 ? 'pastValues' : '', 'last', 'total'],
      ...(turns ? ['cos', 'sin'] : []),
    ],
    out: ['y', 'keys', 'values'],
    ...given({ num_heads: heads, kv_num_heads: kvHeads, local_window_size: window, do_rotary: Number(turns) }),
    ...given({ rotary_interleaved: Number(pairing === 'interleaved'), scale: float(scale), softcap: float(softcap) }),
  };
  // Its window counts the query's own key.
  const sight = { causal: true, ...given({ scale, softcap, window: window < 0 ? undefined : { left: window - 1 } }) };
  const ours = (instance) => {
    const plan = instance.rope({ headDim, pairing });
    const turn = (x) => (turns ? plan.rotate(x, { offset: past }) : x);
    const keys = past > 0 ? joined(cached.keys, turn(k)) : turn(k);
    const values = past > 0 ? joined(cached.values, v) : v;
    const { out } = instance.attention(turn(q), keys, values, sight);
    plan.dispose();
    return packed(out).data;
  };
  return { ours, out: await onnxruntime(node, inputs), what: { ...what, pairing, turns, scale } };
}

test('600 cases of ONNX Attention agree, with masks, biases, scales, softcaps and grouped heads', async () => {
  await everyCase(600, 3001, (draw) => onnxAttention(draw, { cached: false }));
});

test('300 cases of ONNX Attention with cached keys agree', async () => {
  await everyCase(300, 4001, (draw) => onnxAttention(draw, { cached: true }));
});

test('400 cases of MultiHeadAttention agree, with biases and lengths of keys', async () => {
  await everyCase(400, 5001, multiHeadAttention);
});

test('400 cases of GroupQueryAttention agree, with RoPE, windows, softcaps and cached keys', async () => {
  await everyCase(400, 6001, groupQueryAttention);
});
