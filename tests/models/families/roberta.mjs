// RoBERTa, after modeling_roberta.py: BERT whose first position is row padding_idx + 1, with a head of its own names.
import { encoderLayer } from '../reference/encoders.mjs';
import { activate, linear, layerNorm as norm } from '../reference/parts.mjs';
import { Weights } from '../reference/weights.mjs';
import { encoder as bertConfig } from '../tiny/configs.mjs';
import { dense, layerNorm, matrix } from '../tiny/shapes.mjs';
import { tensors as bertTensors } from './bert.mjs';

export const modelType = 'roberta';

/** A config.json of one of its classes, with the fields of FacebookAI/roberta-base's. */
export const roberta = (type, architecture, fields) =>
  bertConfig(type, architecture, {
    bos_token_id: 0,
    eos_token_id: 2,
    layer_norm_eps: 1e-5,
    max_position_embeddings: 26,
    pad_token_id: 1,
    type_vocab_size: 1,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  roberta: ['F32', roberta('roberta', 'RobertaForMaskedLM', { position_embedding_type: 'absolute' }), { head: true }],
  'roberta-untied': [
    'F16',
    roberta('roberta', 'RobertaForMaskedLM', {
      ...{ max_position_embeddings: 28, pad_token_id: 3, tie_word_embeddings: false, type_vocab_size: 2 },
    }),
    { head: true },
  ],
};

export function tensors(c, { head, pooler }) {
  const [width, table] = [c.hidden_size, 'roberta.embeddings.position_embeddings.weight'];
  // BERT's names, behind another prefix.
  const body = bertTensors({ ...c, model_type: 'bert' }, { bare: true, pooler }).map(([name, ...rest]) => [
    `roberta.${name}`,
    ...rest,
  ]);
  return [
    ...body.map(([name, shape, deviation, mean]) => [name, shape, name === table ? 0.7 : deviation, mean]),
    ...(head
      ? [
          ['lm_head.bias', [c.vocab_size], 0.3],
          ...dense('lm_head.dense', width, width),
          ...layerNorm('lm_head.layer_norm', width),
          ...(c.tie_word_embeddings === false ? [matrix('lm_head.decoder', c.vocab_size, width, 2)] : []),
        ]
      : []),
  ];
}

/** See reference/reference.mjs. Positions are those of the tokens; the rows of the table follow. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep, types, positions }) {
  const weights = new Weights(stored);
  const base = 'roberta.';
  const table = (name) => weights.matrix(`${base}embeddings.${name}.weight`);
  const [words, kinds, places] = ['word_embeddings', 'token_type_embeddings', 'position_embeddings'].map(table);
  const sums = ids.map((id, t) =>
    words[id].map((value, i) => f(f(value + kinds[types[t]][i]) + places[c.pad_token_id + 1 + positions[t]][i])),
  );
  const embeddings = norm(f, sums, weights.norm(`${base}embeddings.LayerNorm`), c.layer_norm_eps);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.num_hidden_layers; ++i) {
    layers.push(encoderLayer(f, x, c, weights, `${base}encoder.layer.${i}.`, { keep, positions }));
    x = layers[i].out;
  }
  const pooler = `${base}pooler.dense`;
  const pooled = weights.has(`${pooler}.weight`)
    ? linear(f, x.slice(0, 1), weights.linear(pooler))[0].map((value) => f(Math.tanh(value)))
    : undefined;
  if (!weights.has('lm_head.dense.weight')) return { embeddings, layers, hidden: x, pooled };
  const transformed = activate(f, 'gelu', linear(f, x, weights.linear('lm_head.dense')));
  const normed = norm(f, transformed, weights.norm('lm_head.layer_norm'), c.layer_norm_eps);
  const weight = c.tie_word_embeddings === false ? weights.matrix('lm_head.decoder.weight') : words;
  const logits = linear(f, normed, { weight, bias: weights.vector('lm_head.bias') });
  return { embeddings, layers, hidden: x, pooled, logits };
}
