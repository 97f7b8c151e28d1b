// Whole models in plain float64, comparable line by line with Hugging Face's code. It shares no code with the package,
// and so checks that the package computes what a checkpoint's authors intended.
import { families } from '../families.mjs';
import { decoder } from './decoders.mjs';
import { encoder } from './encoders.mjs';
import { float64 } from './parts.mjs';

export { float32, float64 } from './parts.mjs';

/**
 * Runs one sequence through a model of tiny/models.mjs.
 *
 * Gives { embeddings, layers, hidden, pooled, logits }: rows [T][D], `hidden` after the last norm. Each layer has `q`,
 * `k`, `v` and, as inputs of attention, `qRotated`, `kRotated`, `vRotated` [T][heads * headDim]; scores `raw`,
 * `capped`, `probabilities` [heads][T][T]; `context`, `attentionOut`, `hidden`, `mlp`, `out` (and `normed` in decoders).
 *
 * @param input ids [T]; keep [T], false at padding; types [T]; positions [T], default 0, 1, ...; keyMinusQuery to
 *   negate BERT's distances.
 * @param f float64, or float32 for the result of a float32 program.
 */
export function reference(model, input, f = float64) {
  const { ids } = input;
  const given = {
    ...input,
    keep: input.keep ?? ids.map(() => true),
    types: input.types ?? ids.map(() => 0),
    positions: input.positions ?? ids.map((_, t) => t),
  };
  const { model_type: type } = model.config;
  const run = families[type]?.encoder ?? (['bert', 'roformer'].includes(type) ? encoder : decoder);
  return run(f, model, given);
}
