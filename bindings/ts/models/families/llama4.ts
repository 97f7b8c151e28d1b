// Llama 4: layers that rotate interleaved pairs, normalize queries and keys, and attend within chunks; layers without
// positions, whose queries grow with their position; experts beside a shared one.

import type { FieldCheck, Fields } from '../../checkpoints/fields.js';
import * as check from '../../runtime/check.js';
import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { ExpertsFeedForward, GatedFeedForward, ModelDescription } from '../description/description.js';
import type { Family } from '../description/family.js';
import { flag, integerFrom, integers, readBiases, readEps, size, sizeOf, unlessNull } from '../description/fields.js';
import { matrixSlot, type Names, type Run, vectorSlot } from '../description/slots.js';
import { Turned } from './gpt2.js';
import { llama, llamaFeedForward, llamaMaps, llamaSpelling } from './llama.js';
import { ropeLayers } from './smollm3.js';

// The layers with experts: those of the list, or every nth.
function expertLayers(fields: Fields): (layer: number) => boolean {
  const every = fields.optional('interleave_moe_layer_step', integerFrom(0)) ?? 1;
  const list = fields.optional('moe_layers', integers('layers'));
  return (layer) => list?.includes(layer) ?? (every > 0 && (layer + 1) % every === 0);
}

// Of all experts, one tensor of gates and ups and one of downs, whose matrices are [inputs, outputs]; the shared one is
// the last.
function experts(names: Names, { modelDim }: ModelDescription, part: ExpertsFeedForward) {
  const { hiddenDim, experts, chosen, normalized, sigmoid } = part;
  const made = Array.from({ length: experts }, () => ({
    gate: { weight: matrixSlot(hiddenDim, modelDim) },
    up: { weight: matrixSlot(hiddenDim, modelDim) },
    down: { weight: matrixSlot(modelDim, hiddenDim) },
  }));
  const rowsOf = ({ weight }: (typeof made)[number]['gate']): Run => ({ slot: weight, first: 0, count: weight.rows });
  const ends = (name: string, rows: number, columns: number, runs: readonly Run[]) =>
    names.fused(`experts.${name}`, [rows, columns], runs);
  ends(
    'gate_up_proj',
    experts * 2 * hiddenDim,
    modelDim,
    made.flatMap(({ gate, up }) => [rowsOf(gate), rowsOf(up)]),
  );
  ends(
    'down_proj',
    experts * modelDim,
    hiddenDim,
    made.map(({ down }) => rowsOf(down)),
  );
  const linear = (name: string, rows: number, columns: number) =>
    names.linear(`shared_expert.${name}`, rows, columns, false);
  const shared = {
    gate: linear('gate_proj', hiddenDim, modelDim),
    up: linear('up_proj', hiddenDim, modelDim),
    down: linear('down_proj', modelDim, hiddenDim),
  };
  const router = names.linear('router', experts, modelDim, false);
  return {
    kind: 'experts',
    router,
    experts: [...made, shared],
    chosen,
    normalized,
    ...(sigmoid && { sigmoid }),
  } as const;
}

const spelling: DecoderSpelling = {
  ...llamaSpelling,
  layer(names, model, feedForward: GatedFeedForward | ExpertsFeedForward) {
    const maps = llamaMaps(names, { ...model, queryKeyNorm: false });
    return {
      maps,
      feedForward:
        feedForward.kind === 'experts'
          ? experts(names.within('feed_forward.'), model, feedForward)
          : llamaFeedForward(names, model, feedForward, 'feed_forward.'),
    };
  },
};

const decoder = decoderTensors(spelling);

export const llama4: Family = {
  ...llama,
  stem: 'Llama4',
  images: true,
  rope: { pairing: 'interleaved', headDim: 128, base: 5e5, withoutRope: 'full_attention' },
  read(reading) {
    const { fields } = reading;
    const hasExperts = expertLayers(fields);
    const wide = sizeOf(fields, 'intermediate_size_mlp', 16384);
    const counts = ['num_local_experts', 'num_experts_per_tok'] as const;
    // 0 in models without experts.
    const [experts = 16, chosen = 1] = counts.map((field) => fields.optional(field, integerFrom(0)));
    const chunk = unlessNull(fields, 'attention_chunk_size', size, 8192);
    const { layers, ...model } = readDecoder(
      // Which layers rotate is not up to their type.
      { ...reading, rope: (_, headDim) => reading.rope(undefined, headDim) },
      {
        sizes: { heads: 40, kvHeads: 8, vocabSize: 202048, hiddenDim: () => 8192 },
        eps: readEps(fields, 'rms_norm_eps', 1e-5),
        hasRope: (sizes) => ropeLayers(fields, sizes),
        sliding(sizes) {
          const rotates = ropeLayers(fields, sizes);
          const slides = (layer: number) => chunk !== undefined && rotates(layer);
          return { window: chunk, slides, type: 'chunked_attention', field: 'attention_chunk_size' };
        },
        feedForward({ hiddenDim }, layer) {
          if (!hasExperts(layer)) return { kind: 'gated', hiddenDim: wide };
          if (chosen === 0 || chosen > experts) {
            throw fields.misfit('num_experts_per_tok', `; expected 1 to ${experts}, num_local_experts`);
          }
          return { kind: 'experts', hiddenDim, experts, chosen, normalized: false, sigmoid: true, shared: true };
        },
        biases: { ...readBiases(fields), feedForward: false },
        queryKeyNorm: flag(fields, 'use_qk_norm', true),
      },
    );
    // A norm without weights gives the same before and behind a rotation, unless that scales.
    if (model.queryKeyNorm && layers.some(({ rope }) => /yarn|longrope/.test(rope?.scaling?.type ?? ''))) {
      throw fields.misfit('use_qk_norm', ', behind a rotary encoding that scales; expected another rope_type');
    }
    // Older files have a number.
    const tuning: FieldCheck<boolean> = (where, name, value) =>
      typeof value === 'number' ? value !== 0 : check.boolean(where, name, value);
    const tuned = fields.optional('attn_temperature_tuning', tuning) ?? true;
    const temperature = {
      step: sizeOf(fields, 'floor_scale', 8192),
      scale: fields.optional('attn_scale', check.float32Number) ?? 0.1,
    };
    return {
      ...model,
      layers: layers.map((layer) => (tuned && layer.rope === null ? { ...layer, temperature } : layer)),
    };
  },
  fileOf: (file) =>
    new Turned(file, (name, [, inputs = 0, outputs, ...more]) =>
      outputs !== undefined && more.length === 0 && /\.feed_forward\.experts\.(gate_up|down)_proj$/.test(name)
        ? [inputs, outputs]
        : undefined,
    ),
  tensors(model, file) {
    const { slots, ...checkpoint } = decoder(model, file);
    const ones = () => ({ weight: { ...vectorSlot(model.headDim), data: new Float32Array(model.headDim).fill(1) } });
    const layers = slots.layers.map((layer, i) =>
      model.queryKeyNorm && model.layers[i]?.rope
        ? { ...layer, maps: { ...layer.maps, queryNorm: ones(), keyNorm: ones() } }
        : layer,
    );
    return { ...checkpoint, slots: { ...slots, layers } };
  },
};
