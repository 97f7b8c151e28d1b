// Training: a small transformer from given parameters, over batches that repeat.
import { choose, given, operation, Unsupported } from './operation.mjs';

const positions = {
  none: () => ({}),
  learned: ({ length, mode = 'add' }) => ({
    maxPositions: length,
    mode: choose('mode', mode, { add: 'add', multiply: 'multiply' }),
  }),
  sinusoidal: ({ scale, base }) => ({ scale, base }),
  rope: ({ pairing, base = 10000, attention_factor: attentionFactor }, headDim) => ({
    pairing,
    base,
    // The factor alone, with the usual frequencies.
    scaling: attentionFactor && {
      type: 'custom',
      inverseFrequencies: Array.from({ length: headDim / 2 }, (_, i) => base ** ((-2 * i) / headDim)),
      attentionFactor,
    },
  }),
  alibi: ({ trainable, slopes }, _, heads) => ({
    trainable,
    slopes: slopes ?? Array.from({ length: heads }, (_, h) => 2 ** ((-8 * (h + 1)) / heads)),
  }),
  t5: ({ num_buckets: numBuckets, max_distance: maxDistance }) => ({ numBuckets, maxDistance }),
  kerple: () => ({}),
  shaw: ({ max_rel: maxDistance }) => ({ maxDistance }),
  relative_key: ({ max_positions: maxPositions }) => ({ maxPositions }),
  relative_key_query: ({ max_positions: maxPositions }) => ({ maxPositions }),
  m3: ({ max_positions: maxPositions }) => ({ maxPositions }),
  pope: ({ base }) => ({ base }),
  forget: () => ({}),
  fire: ({ width, threshold }) => ({ width, threshold }),
};
const linear = {
  none: { linear: 'elu1' },
  numerator: { linear: 'elu1', ropeForm: 'numerator' },
  both: { linear: 'elu1', ropeForm: 'both' },
  cosine: { linear: 'cosine' },
};

function optionsOf(params, context) {
  const { heads, model_dim: modelDim, encoding, optimizer, attention } = params;
  const { kind, ...encodingParams } = encoding;
  const read = choose('encoding.kind', kind, positions);
  const { lr: learningRate, betas, eps, weight_decay: weightDecay, clip, ...others } = optimizer;
  for (const name of Object.keys(others)) throw new Unsupported(`param optimizer.${name}`);
  return given({
    layers: params.layers,
    modelDim,
    heads,
    hiddenDim: params.hidden_dim,
    vocab: params.vocab,
    context,
    causal: Boolean(params.causal),
    position: given({ encoding: kind, ...read(encodingParams, modelDim / heads, heads) }),
    attention: attention === 'softmax' ? attention : choose('attention.linear', attention.linear, linear),
    normEps: params.eps,
    optimizer: { learningRate, betas, eps, weightDecay, clip: clip ?? 0 },
  });
}

const entriesOf = (arrays, prefix) =>
  Object.entries(arrays).flatMap(([name, array]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), array]] : [],
  );
const named = (prefix, arrays) => Object.fromEntries(Object.entries(arrays).map(([name, a]) => [prefix + name, a]));
const scalar = (number) => ({ shape: [], data: [number] });

function batchesOf(inputs) {
  const batches = [];
  for (let i = 0; inputs[`batch${i}.ids`] !== undefined; ++i) {
    const { ids, targets, weights } = Object.fromEntries(entriesOf(inputs, `batch${i}.`));
    batches.push({ ids, targets, weights: weights?.data });
  }
  return batches;
}

const names = ['vocab', 'model_dim', 'heads', 'layers', 'hidden_dim', 'causal', 'attention', 'encoding'];

let instance;

async function train(_, params, inputs) {
  const { load } = await import('ropewalk/training');
  instance ??= load();
  const rw = await instance;
  const batches = batchesOf(inputs);
  const trainer = rw.trainer(optionsOf(params, batches[0].ids.shape[1]));
  try {
    const parameters = Object.fromEntries(entriesOf(inputs, 'parameters.'));
    const missing = Object.keys(trainer.parameters()).filter((name) => parameters[name] === undefined);
    if (missing.length > 0) throw new Unsupported(`no parameter ${missing.join(', ')}`);
    trainer.setParameters(parameters);
    const outputs = {};
    for (let s = 1; s <= Math.max(...params.steps); ++s) {
      const { loss, gradientNorm } = trainer.step(batches[(s - 1) % batches.length]);
      if (s === 1) {
        const first = { loss: scalar(loss), gradient_norm: scalar(gradientNorm) };
        Object.assign(outputs, first, named('gradients.', trainer.gradients()));
      }
      if (params.steps.includes(s)) Object.assign(outputs, named(`step${s}.`, trainer.parameters()));
    }
    return outputs;
  } finally {
    trainer.dispose();
  }
}

export const training = {
  // Any parameters and batches: their names depend on the case.
  train: (rw, params, inputs) =>
    operation({ params: [...names, 'eps', 'optimizer', 'steps'], inputs: Object.keys(inputs) }, train)(
      rw,
      params,
      inputs,
    ),
};
