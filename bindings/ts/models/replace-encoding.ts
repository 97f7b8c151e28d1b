// A model with another position encoding over the same weights. The code that makes it is imported by the first call.

import type { DecoderModel } from './decoder.js';
import type { EncoderModel } from './encoder.js';
import type { ModelEncoding, ReplaceEncodingOptions } from './replaced.js';

/**
 * Makes a model with the same weights and another position encoding in every layer, to see what a trained model loses
 * without its own, or with parameters that were trained elsewhere. Dispose of both; the weights are freed with the last.
 * `withRope` of the result changes layers that then have a rotary encoding, and reads the parameters of the others again.
 *
 * @param encoding one for all layers, or a function from the number of a layer to its own.
 * @throws ArgumentTypeError, ArgumentRangeError for options that do not fit, or a model whose positions are added to its
 *   token vectors.
 *
 * @example
 * using alibi = await replaceEncoding(model, { encoding: 'alibi' });
 * using random = await replaceEncoding(model, { encoding: 't5', bidirectional: false }, { seed: 1 });
 */
export async function replaceEncoding<M extends EncoderModel | DecoderModel>(
  model: M,
  encoding: ModelEncoding | ((layer: number) => ModelEncoding),
  options: ReplaceEncodingOptions = {},
): Promise<M> {
  return (await import('./experiments.js')).replaced(model, encoding, options);
}
