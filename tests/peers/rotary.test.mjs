// RotaryEmbedding of onnxruntime-web with our tables against plans and against rotaryEmbedding with the same tables.
import { test } from 'node:test';
import { everyCase, int64, onnxruntime } from './cases.mjs';

const rows = 64;

function drawn(draw) {
  const rotaryPairs = draw.pick(1, 2, 4, 8, 16);
  const rest = draw.pick(0, 0, 2, 6);
  return {
    pairing: draw.pick('half', 'interleaved'),
    batch: draw.integer(1, 3),
    heads: draw.pick(1, 2, 4),
    tokens: draw.integer(1, 9),
    rotaryDim: 2 * rotaryPairs,
    headDim: 2 * rotaryPairs + rest,
    base: draw.pick(100, 10000, 500000),
    perBatch: draw.pick(true, false),
  };
}

function planOf(rw, { headDim, rotaryDim, base, pairing }) {
  return rw.rope({ headDim, rotaryDim, base, pairing });
}

const attributes = ({ pairing, rotaryDim, headDim }) => ({
  interleaved: pairing === 'interleaved' ? 1 : 0,
  rotary_embedding_dim: rotaryDim === headDim ? 0 : rotaryDim,
});

// One list of positions for every batch entry, or one for all.
function positionsOf(draw, { batch, tokens, perBatch }) {
  const list = draw.integers(perBatch ? batch * tokens : tokens, rows - 1);
  const flat = perBatch ? list : Array.from({ length: batch * tokens }, (_, i) => list[i % tokens]);
  return { positions: list, ids: int64(flat, [batch, tokens]) };
}

function tablesOf(rw, what) {
  const plan = planOf(rw, { ...what, headDim: what.rotaryDim });
  const { cos, sin } = plan.tables({ length: rows });
  plan.dispose();
  const shape = [rows, what.rotaryDim / 2];
  return { cos: { data: cos, shape }, sin: { data: sin, shape } };
}

function rotated(rw, what, x, options) {
  const plan = planOf(rw, what);
  const { data } = plan.rotate(x, options);
  plan.dispose();
  return data;
}

async function compare(draw, rw, { byTables, tokensFirst }) {
  const what = drawn(draw);
  const { batch, heads, tokens, headDim, pairing } = what;
  const shape = tokensFirst ? [batch, tokens, heads, headDim] : [batch, heads, tokens, headDim];
  const x = draw.numbers(...shape);
  const { positions, ids } = positionsOf(draw, what);
  const { cos, sin } = tablesOf(rw, what);
  const input = tokensFirst ? { data: x.data, shape: [batch, tokens, heads * headDim] } : x;
  const microsoft = draw.pick(true, false);
  const node = {
    op: 'RotaryEmbedding',
    domain: microsoft ? 'com.microsoft' : '',
    in: microsoft ? ['x', 'at', 'cos', 'sin'] : ['x', 'cos', 'sin', 'at'],
    out: 'y',
    num_heads: microsoft || tokensFirst ? heads : 0,
    ...attributes(what),
  };
  const layout = tokensFirst ? 'BTHD' : 'BHTD';
  const ours = (instance) =>
    byTables
      ? instance.rotaryEmbedding(x, { cos, sin, positions, pairing, layout }).data
      : rotated(instance, what, x, { positions, layout });
  return { ours, out: await onnxruntime(node, { x: input, at: ids, cos, sin }), what: { ...what, positions, node } };
}

test('500 cases of RotaryEmbedding agree with plans', async () => {
  await everyCase(500, 1, (draw, rw) => compare(draw, rw, { byTables: false, tokensFirst: false }));
});

test('300 cases of RotaryEmbedding on [B, T, H * D] agree with plans', async () => {
  await everyCase(300, 1001, (draw, rw) => compare(draw, rw, { byTables: false, tokensFirst: true }));
});

test('200 cases of RotaryEmbedding agree with rotaryEmbedding', async () => {
  await everyCase(200, 2001, (draw, rw) => compare(draw, rw, { byTables: true, tokensFirst: draw.pick(true, false) }));
});
