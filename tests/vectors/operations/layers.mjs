// Whole layers: BERT's and RoFormer's encoder, LLaMA's decoder.
import { choose, operation } from './operation.mjs';
import { resolvedPlanOf, scalingParams, withPlan } from './rope.mjs';

// Weights by the package's names; those that a case does not have are left out.
const namesOf = (names, inputs) =>
  Object.fromEntries(
    Object.entries(names)
      .filter(([name]) => inputs[name] !== undefined)
      .map(([name, ours]) => [ours, inputs[name]]),
  );

const attentionNames = { q: 'query', k: 'key', v: 'value', o: 'output' };
const encoderNames = {
  ...Object.fromEntries(
    Object.entries({ ...attentionNames, fc1: 'up', fc2: 'down', ln1: 'attentionNorm', ln2: 'feedForwardNorm' }).flatMap(
      ([name, ours]) => [
        [`${name}_w`, ours],
        [`${name}_b`, `${ours}Bias`],
      ],
    ),
  ),
};
const decoderNames = {
  ...Object.fromEntries(Object.entries(attentionNames).map(([name, ours]) => [`${name}_w`, ours])),
  ...{ rms1: 'attentionNorm', rms2: 'feedForwardNorm', gate_w: 'gate', up_w: 'up', down_w: 'down' },
};

const encoderPositions = {
  rope: ({ base }) => ({ encoding: 'rope', base, pairing: 'interleaved' }),
  absolute: () => ({ encoding: 'none' }),
  relative_key: (_, table) => ({ encoding: 'relative_key', table }),
  relative_key_query: (_, table) => ({ encoding: 'relative_key_query', table }),
};
const activations = { gelu: 'gelu', gelu_new: 'geluTanh', relu: 'relu', silu: 'silu' };

function withLayer(layer, work) {
  try {
    return work(layer);
  } finally {
    layer.dispose();
  }
}

// The tokens in pieces, through a cache; the first piece stands at `offset`.
function chunked(layer, { data, shape: [batch, tokens, dim] }, chunks, offset) {
  const cache = layer.kvCache({ batch });
  try {
    const out = new Float32Array(data.length);
    for (const count of chunks) {
      const first = cache.length;
      const rows = Array.from({ length: batch }, (_, b) => (b * tokens + first) * dim);
      const piece = rows.flatMap((row) => [...data.subarray(row, row + count * dim)]);
      const x = { data: Float32Array.from(piece), shape: [batch, count, dim] };
      const result = layer.forward(x, first === 0 ? { cache, offset } : { cache });
      rows.forEach((row, b) => {
        out.set(result.out.data.subarray(b * count * dim, (b + 1) * count * dim), row);
      });
    }
    return { out: { data: out, shape: [batch, tokens, dim] } };
  } finally {
    cache.dispose();
  }
}

export const layers = {
  encoder_layer: operation(
    {
      params: ['n_heads', 'eps', 'mode', 'base', 'max_positions', 'act', 'rotary_value'],
      inputs: ['x', 'keep_mask', 'rel', ...Object.keys(encoderNames)],
    },
    (rw, params, { x, keep_mask: keep, rel, ...weights }) => {
      const { n_heads: heads, eps, mode, act = 'gelu', rotary_value: turnValues } = params;
      const layer = rw.encoderLayer({
        modelDim: x.shape.at(-1),
        heads,
        eps,
        turnValues: mode === 'rope' && turnValues === true,
        hiddenDim: weights.fc1_w.shape[0],
        activation: choose('act', act, activations),
        position: choose('mode', mode, encoderPositions)(params, rel),
        weights: namesOf(encoderNames, weights),
      });
      const [batch, tokens] = keep?.shape ?? [];
      const mask = keep && { data: keep.data, shape: [batch, 1, 1, tokens] };
      return withLayer(layer, () => layer.forward(x, mask ? { mask } : {}));
    },
  ),

  llama_layer: operation(
    {
      params: ['n_heads', 'n_kv_heads', 'head_dim', 'eps', 'base', 'position0', 'chunks', ...scalingParams],
      inputs: ['x', ...Object.keys(decoderNames)],
    },
    (rw, params, { x, ...weights }) => {
      const { n_heads: heads, n_kv_heads: kvHeads, head_dim: headDim, eps, position0: offset = 0 } = params;
      return withPlan(resolvedPlanOf(rw, params, headDim, headDim), (plan) => {
        const layer = rw.decoderLayer({
          modelDim: x.shape.at(-1),
          heads,
          kvHeads,
          headDim,
          eps,
          hiddenDim: weights.up_w.shape[0],
          position: { encoding: 'rope', plan },
          weights: namesOf(decoderNames, weights),
        });
        return withLayer(layer, () => chunked(layer, x, params.chunks ?? [x.shape[1]], offset));
      });
    },
  ),
};
