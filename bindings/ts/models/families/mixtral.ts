// Mixtral: Mistral with experts, two of eight for each token.

import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { ExpertsFeedForward } from '../description/description.js';
import type { Family } from '../description/family.js';
import { readEps, sizeOf } from '../description/fields.js';
import type { FeedForwardSlots, LinearSlots, Names } from '../description/slots.js';
import { llamaMaps, llamaSpelling } from './llama.js';
import { everyLayer } from './mistral.js';

/**
 * The slots of experts, whose maps have these names, behind `experts.0.` and so on, or `experts.` where one tensor has the
 * rows of all, as in GGUF files.
 * @internal
 */
export function expertSlots(
  names: Names,
  modelDim: number,
  { hiddenDim, experts, chosen, normalized }: ExpertsFeedForward,
  [gate, up, down]: readonly [gate: string, up: string, down: string],
): FeedForwardSlots {
  const maps = (name: string, rows: number, columns: number): readonly LinearSlots[] =>
    names.has(`experts.${name}.weight`)
      ? names.joined(`experts.${name}`, Array<number>(experts).fill(rows), columns)
      : Array.from({ length: experts }, (_, i) => names.linear(`experts.${i}.${name}`, rows, columns, false));
  const [gates, ups, downs] = [
    maps(gate, hiddenDim, modelDim),
    maps(up, hiddenDim, modelDim),
    maps(down, modelDim, hiddenDim),
  ];
  return {
    kind: 'experts',
    router: names.linear('gate', experts, modelDim, false),
    experts: gates.map((gate, i) => ({ gate, up: ups[i] as LinearSlots, down: downs[i] as LinearSlots })),
    chosen,
    normalized,
  };
}

const spelling: DecoderSpelling = {
  ...llamaSpelling,
  layer(names, model, feedForward: ExpertsFeedForward) {
    const experts = names.within('block_sparse_moe.');
    return {
      maps: llamaMaps(names, model),
      feedForward: expertSlots(experts, model.modelDim, feedForward, ['w1', 'w3', 'w2']),
    };
  },
};

export const mixtral: Family = {
  stem: 'Mixtral',
  rope: { pairing: 'half', base: 1e6 },
  read(reading) {
    const { fields } = reading;
    const experts = sizeOf(fields, 'num_local_experts', 8);
    const chosen = sizeOf(fields, 'num_experts_per_tok', 2);
    if (chosen > experts) throw fields.misfit('num_experts_per_tok', `; expected at most ${experts}, the experts`);
    return readDecoder(reading, {
      sizes: { heads: 32, kvHeads: 8, vocabSize: 32000 },
      eps: readEps(fields, 'rms_norm_eps', 1e-5),
      sliding: () => everyLayer(fields, undefined),
      feedForward: ({ hiddenDim }) => ({ kind: 'experts', hiddenDim, experts, chosen, normalized: true }),
    });
  },
  tensors: decoderTensors(spelling),
};
