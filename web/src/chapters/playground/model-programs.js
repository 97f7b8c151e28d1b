// What the figures compute of a model, as their programs show it.
// @ts-nocheck
import { topTokens } from './top-tokens.js';
/** @import { AnyModel, ModelFacts } from './bench' */
/** @import { PartName } from './score-parts' */

/**
 * Scores of a layer by their parts, with an encoding and as the model has them; and the tokens that it holds likeliest at
 * one place, with its own probability beside.
 * @type {(model: AnyModel, own: AnyModel, ids: readonly number[], layer: number, at: number,
 *   options?: (nth: number) => object) => Promise<Partial<Record<'scores' | 'ownScores', Record<PartName, { data: Float32Array }>>>
 *   & { top: ReturnType<typeof topTokens> }>}
 */
export const lookAt = async (model, own, ids, layer, at, options = () => ({})) => {
  const capture = ['content', 'position', 'biased', 'probabilities'];
  const logits = own.kind === 'encoder' ? own.hasLogits : own.hasLogits ? 'all' : 'none';
  const pass = (each, nth) => each.forwardAsync(ids, { capture, captureLayers: [layer], logits, ...options(nth) });
  const after = await pass(model, 0);
  const before = model === own ? after : await pass(own, 1);
  const [[scores], [ownScores]] = [after.captured, before.captured];
  const V = own.config.vocabSize;
  const row = (made) => made.logits.data.subarray(at * V, (at + 1) * V);
  return { scores, ownScores, top: own.hasLogits ? topTokens(row(after), row(before), 5) : [] };
};

/** @type {(model: AnyModel, config: Record<string, unknown>) =>
 *   Omit<ModelFacts, 'hasLogits' | 'kind' | 'position' | 'readsText'>} */
export const factsOf = (model, config) => {
  const { layers, heads, kvHeads, headDim, vocabSize } = model.config;
  const [rope] = model.ropes;
  const text = config.text_config ?? config;
  return {
    ...{ ...model.info, layers: layers.length, heads, kvHeads, headDim, vocabSize },
    base: rope && (rope.base ?? 10000),
    maxLength: text.max_trained_positions ?? text.max_position_embeddings ?? text.n_positions,
  };
};
