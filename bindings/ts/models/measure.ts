// How well a decoder predicts a text, by position and by the scaling of its rotary encoding. The code that measures is
// imported by the first call.

import type { RopeScaling } from '../rope/options.js';
import type { DecoderModel } from './decoder.js';
import type { LengthCurve, LengthCurveOptions, Perplexity, PerplexityOptions } from './evaluate.js';
import type { IdsInput } from './ids.js';

/**
 * Measures how well a decoder predicts a text: -ln of the probability of each token after those before it, in windows of a
 * fixed length. Logits are the model's, in float32; their softmax is in float64. Other work of this thread runs in
 * between, and memory does not grow with the length of the text.
 *
 * @param ids [T], at least two tokens of one text.
 * @throws ArgumentTypeError for what is no decoder; ArgumentRangeError for a model without a head, a text of one token, or
 *   a length that the model's frequencies are not for; the signal's reason; StateError where the model was disposed of.
 *
 * @example
 * const { loss, losses } = await perplexity(model, ids, { length: 512, stride: 256, signal });
 * console.log(Math.exp(loss), losses.indexOf(Math.max(...losses.subarray(1))));
 */
export async function perplexity(
  model: DecoderModel,
  ids: IdsInput,
  options: PerplexityOptions = {},
): Promise<Perplexity> {
  return (await import('./experiments.js')).measurePerplexity(model, ids, options);
}

/**
 * Measures what scalings of the rotary encoding make of longer contexts: the loss of a text by how many tokens are seen, for
 * each scaling, over the same weights. Windows follow each other without overlap.
 *
 * @param ids [T], at least two tokens of one text.
 * @param scalings by names of the caller's; `dynamic` and `longrope` need the sequenceLength that is measured.
 * @throws the errors of `perplexity`, and those of `model.withRope` for a scaling that does not fit.
 *
 * @example
 * const scalings = { none: { type: 'default' }, ntk: { type: 'ntk', factor: 4 } } as const;
 * for (const { name, points } of await lengthCurve(model, ids, scalings, { length: 8192, signal })) {
 *   console.log(name, points.map(({ last, loss }) => `${last}: ${loss.toFixed(2)}`).join(', '));
 * }
 */
export async function lengthCurve(
  model: DecoderModel,
  ids: IdsInput,
  scalings: Readonly<Record<string, RopeScaling>>,
  options: LengthCurveOptions = {},
): Promise<LengthCurve[]> {
  return (await import('./experiments.js')).measureLengths(model, ids, scalings, options);
}
