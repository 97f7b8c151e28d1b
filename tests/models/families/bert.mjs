// BERT with each of its position types, and Jina BERT v2, whose model_type it is.
import { encoder } from '../tiny/configs.mjs';
import { dense, layerNorm, matrix, sharper } from '../tiny/shapes.mjs';

export const modelType = 'bert';

const bert = (fields, architecture = 'BertForMaskedLM') => encoder('bert', architecture, fields);

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  bert: ['F32', bert({ position_embedding_type: 'absolute' }), { pooler: true }],
  'bert-gamma': ['F32', bert({}), { pooler: true, gamma: true }],
  'bert-bare': ['BF16', bert({}, 'BertModel'), { pooler: true, bare: true }],
  'bert-relative-key': ['F32', bert({ position_embedding_type: 'relative_key' })],
  'bert-relative-key-query': ['F16', bert({ position_embedding_type: 'relative_key_query' })],
  'jina-bert': [
    'F32',
    bert({ emb_pooler: 'mean', feed_forward_type: 'geglu', position_embedding_type: 'alibi' }, 'JinaBertForMaskedLM'),
    { pooler: true },
  ],
  'jina-bert-bare': [
    'F16',
    bert({ feed_forward_type: 'reglu', num_attention_heads: 4, position_embedding_type: 'alibi' }, 'JinaBertModel'),
    { bare: true },
  ],
};

/** The tensors of BERT and RoFormer. */
export function tensors(c, { gamma, bare, pooler, table }) {
  const base = bare ? '' : `${c.model_type}.`;
  const embedded = c.embedding_size ?? c.hidden_size;
  const [width, wide] = [c.hidden_size, c.intermediate_size];
  const headDim = width / c.num_attention_heads;
  const relative = c.position_embedding_type?.startsWith('relative');
  const isJina = c.position_embedding_type === 'alibi';
  const absolute = c.model_type === 'bert' && !relative && !isJina;
  const layer = (i) => {
    const at = `${base}encoder.layer.${i}.`;
    return [
      ...dense(`${at}attention.self.query`, width, width, sharper),
      ...dense(`${at}attention.self.key`, width, width, sharper),
      ...dense(`${at}attention.self.value`, width, width),
      ...(relative
        ? [[`${at}attention.self.distance_embedding.weight`, [2 * c.max_position_embeddings - 1, headDim], 0.8]]
        : []),
      ...dense(`${at}attention.output.dense`, width, width),
      ...layerNorm(`${at}attention.output.LayerNorm`, width, gamma),
      ...(isJina
        ? [
            matrix(`${at}mlp.gated_layers`, 2 * wide, width),
            ...dense(`${at}mlp.wo`, width, wide),
            ...layerNorm(`${at}mlp.layernorm`, width),
          ]
        : [
            ...dense(`${at}intermediate.dense`, wide, width),
            ...dense(`${at}output.dense`, width, wide),
            ...layerNorm(`${at}output.LayerNorm`, width, gamma),
          ]),
    ];
  };
  return [
    [`${base}embeddings.word_embeddings.weight`, [c.vocab_size, embedded], 1],
    ...(absolute ? [[`${base}embeddings.position_embeddings.weight`, [c.max_position_embeddings, embedded], 1]] : []),
    [`${base}embeddings.token_type_embeddings.weight`, [c.type_vocab_size, embedded], 0.7],
    ...layerNorm(`${base}embeddings.LayerNorm`, embedded, gamma),
    ...(embedded === width ? [] : dense(`${base}embeddings_project`, width, embedded)),
    // A table that some checkpoints keep; its numbers are those of sines and cosines, not these.
    ...(table ? [[`${base}encoder.embed_positions.weight`, [c.max_position_embeddings, headDim], 1]] : []),
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...(pooler ? dense(`${base}pooler.dense`, width, width) : []),
    ...(bare
      ? []
      : [
          ['cls.predictions.bias', [c.vocab_size], 0.3],
          ...dense('cls.predictions.transform.dense', embedded, width),
          ...layerNorm('cls.predictions.transform.LayerNorm', embedded, gamma),
        ]),
    // The head for pairs of sentences, which nothing reads.
    ...(gamma ? dense('cls.seq_relationship', 2, width) : []),
  ];
}
