// UMT5, after modeling_umt5.py: T5 with a table of distances in every layer of both.
import { t5 } from './t5.mjs';

export { encoder, encoderDecoder, tensors } from './t5.mjs';

export const modelType = 'umt5';

// The fields of google/umt5-small's config.json that T5's lack.
const umt5 = (architecture, fields) =>
  t5(architecture, {
    ...{ dense_act_fn: 'gelu_new', feed_forward_proj: 'gated-gelu', is_gated_act: true, model_type: 'umt5' },
    ...{ num_decoder_layers: 3, scalable_attention: true },
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = { umt5: ['F32', umt5('UMT5EncoderModel', {}), { decoder: true }] };

/** The same of models with a decoder. */
export const pairs = {
  'umt5-both': ['F32', umt5('UMT5ForConditionalGeneration', {}), { decoder: true }],
  'umt5-tied': ['BF16', umt5('UMT5ForConditionalGeneration', { tie_word_embeddings: true }), { decoder: true }],
};
