// Rotary embedding: rotation and its inverse, tables, frequencies, and attention over rotated queries and keys.
import { choose, given, operation, WrongResult } from './operation.mjs';

const pairings = { interleaved: 'interleaved', half: 'half' };

const lengths = (p) => ({ originalLength: p.original_max_position_embeddings });

// The parameters of each kind of scaling, by the names of the vectors (Hugging Face's), as the package says them.
const scalings = {
  default: () => ({}),
  linear: (p) => ({ factor: p.factor }),
  ntk: (p) => ({ factor: p.factor }),
  dynamic: (p) => ({ factor: p.factor, maxLength: p.max_position_embeddings, sequenceLength: p.seq_len }),
  yarn: (p) => ({
    factor: p.factor,
    ...lengths(p),
    betaFast: p.beta_fast,
    betaSlow: p.beta_slow,
    truncate: p.truncate,
    mscale: p.mscale,
    mscaleAllDim: p.mscale_all_dim,
    attentionFactor: p.attention_factor,
  }),
  longrope: (p) => ({
    shortFactors: p.short_factor,
    longFactors: p.long_factor,
    ...lengths(p),
    maxLength: p.max_position_embeddings,
    factor: p.factor,
    sequenceLength: p.seq_len,
    attentionFactor: p.attention_factor,
  }),
  llama3: (p) => ({
    factor: p.factor,
    ...lengths(p),
    lowFreqFactor: p.low_freq_factor,
    highFreqFactor: p.high_freq_factor,
  }),
};

export const scalingParams = [
  ...['kind', 'factor', 'original_max_position_embeddings', 'max_position_embeddings', 'seq_len', 'beta_fast'],
  ...['beta_slow', 'truncate', 'mscale', 'mscale_all_dim', 'attention_factor', 'short_factor', 'long_factor'],
  ...['low_freq_factor', 'high_freq_factor'],
];

function planOf(rw, params, headDim, rotaryDim) {
  const { base = 10000, kind = 'default', style = 'half' } = params;
  const scaling = given({ type: kind, ...choose('kind', kind, scalings)(params) });
  return rw.rope({ headDim, rotaryDim, base, pairing: choose('style', style, pairings), scaling });
}

function close(plan, attentionFactor) {
  return attentionFactor === undefined || Math.abs(plan.attentionFactor - attentionFactor) <= 1e-12 * attentionFactor;
}

// Where attention_factor is the resolved one, the plan must come to it on its own; only where the case was given it
// (it follows from nothing else) does the plan take it.
export function resolvedPlanOf(rw, params, headDim, rotaryDim) {
  const { attention_factor: resolved, ...rest } = params;
  const derived = planOf(rw, rest, headDim, rotaryDim);
  if (close(derived, resolved)) return derived;
  derived.dispose();
  const plan = planOf(rw, params, headDim, rotaryDim);
  if (!close(plan, resolved)) throw new WrongResult(`attention factor is ${plan.attentionFactor}, want ${resolved}`);
  return plan;
}

// Frees what a case made, whether it worked or not.
export function withPlan(plan, work) {
  try {
    return work(plan);
  } finally {
    plan.dispose();
  }
}

const rotation = { params: ['style', 'rotary_dim', 'base', 'inverse', ...scalingParams], inputs: ['x', 'positions'] };
const tables = { params: ['style', 'rotary_dim', 'base', ...scalingParams], inputs: ['positions'] };
const rotatedAttention = {
  params: ['style', 'rotary_dim', 'base', 'causal', 'q_position0', 'k_position0', ...scalingParams],
  inputs: ['q', 'k', 'v'],
};

export const rope = {
  rope: operation(rotation, (rw, params, { x, positions }) => {
    const headDim = x.shape.at(-1);
    return withPlan(resolvedPlanOf(rw, params, headDim, params.rotary_dim ?? headDim), (plan) => {
      const turn = params.inverse ? 'unrotate' : 'rotate';
      return { out: plan[turn](x, { positions: positions.data }) };
    });
  }),

  rope_tables: operation(tables, (rw, params, { positions }) =>
    withPlan(resolvedPlanOf(rw, params, params.rotary_dim, params.rotary_dim), (plan) => {
      const { cos, sin } = plan.tables(positions.data);
      const shape = [...positions.shape, params.rotary_dim / 2];
      return { cos: { shape, data: cos }, sin: { shape, data: sin } };
    }),
  ),

  inv_freq: operation({ params: ['dim', 'base', ...scalingParams] }, (rw, params) =>
    withPlan(planOf(rw, params, params.dim, params.dim), (plan) => ({
      inv_freq: { shape: [plan.inverseFrequencies.length], data: plan.inverseFrequencies },
      attention_factor: { shape: [], data: [plan.attentionFactor] },
    })),
  ),

  rope_attention: operation(rotatedAttention, (rw, params, { q, k, v }) => {
    const headDim = q.shape.at(-1);
    return withPlan(resolvedPlanOf(rw, params, headDim, params.rotary_dim ?? headDim), (plan) => {
      const queries = plan.rotate(q, { offset: params.q_position0 ?? 0 });
      const keys = plan.rotate(k, { offset: params.k_position0 ?? 0 });
      const { out, scores } = rw.attention(queries, keys, v, {
        causal: params.causal ?? true,
        returnScores: 'probabilities',
      });
      return { out, probs: scores };
    });
  }),
};
