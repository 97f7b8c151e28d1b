// Whole models in plain float64, written to be read beside Hugging Face's and to share nothing with the package: the
// proof that it runs a checkpoint as its authors meant it.
import { decoder } from './decoders.mjs';
import { encoder } from './encoders.mjs';
import { float64 } from './parts.mjs';

export { float32, float64 } from './parts.mjs';

/**
 * One sequence through a model of tiny/models.mjs.
 *
 * Gives { embeddings, layers, hidden, pooled, logits }: rows [T][D], `hidden` after the last norm. Each layer has `q`,
 * `k`, `v` and, as attention takes them, `qRotated`, `kRotated`, `vRotated` [T][heads * headDim]; scores `raw`,
 * `capped`, `probabilities` [heads][T][T]; `context`, `attentionOut`, `hidden`, `mlp`, `out` (and `normed` in decoders).
 *
 * @param input ids [T]; keep [T], false at padding; types [T]; positions [T], 0, 1, ... if not given; keyMinusQuery for
 *   BERT's distances the other way round.
 * @param f float64, or float32 for what a float32 program gives.
 */
export function reference(model, input, f = float64) {
  const { ids } = input;
  const given = {
    ...input,
    keep: input.keep ?? ids.map(() => true),
    types: input.types ?? ids.map(() => 0),
    positions: input.positions ?? ids.map((_, t) => t),
  };
  const run = ['bert', 'roformer'].includes(model.config.model_type) ? encoder : decoder;
  return run(f, model, given);
}
