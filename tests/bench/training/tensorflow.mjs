// The trainer's model in TensorFlow.js, differentiated by its autodiff: RMS norms, RoPE in halves, softmax attention or
// linear attention with elu + 1 and RoPE in the numerator, causal or not, a feed-forward part with GELU, Adam. Its wasm
// backend lacks the kernel of one gradient, that of gather (UnsortedSegmentSum), so tokens are looked up by a product with
// ones at their ids, which oneHot gives right as integers alone.
import { frequency } from '../reference.mjs';

const hidden = -1e9; // a score of what is not seen

function tablesOf(tf, tokens, headDim, causal) {
  const pairs = headDim / 2;
  const table = (f) =>
    tf.tensor(
      Float32Array.from({ length: tokens * pairs }, (_, i) => f(Math.floor(i / pairs) * frequency(i % pairs, headDim))),
      [1, 1, tokens, pairs],
    );
  const ofPairs = (seen, unseen) =>
    tf.tensor(
      Float32Array.from({ length: tokens * tokens }, (_, i) =>
        causal && i % tokens > Math.floor(i / tokens) ? unseen : seen,
      ),
      [1, 1, tokens, tokens],
    );
  return { cos: table(Math.cos), sin: table(Math.sin), mask: ofPairs(0, hidden), seen: ofPairs(1, 0) };
}

// x [.., D] w^T for w [outputs, inputs].
const project = (tf, x, w) => tf.matMul(x, w, false, true);

const norm = (tf, x, weight) =>
  tf.mul(tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), tf.scalar(1e-6)))), weight);

function turn(tf, x, { cos, sin }) {
  const [a, b] = tf.split(x, 2, -1);
  return tf.concat([tf.sub(tf.mul(a, cos), tf.mul(b, sin)), tf.add(tf.mul(a, sin), tf.mul(b, cos))], -1);
}

// elu(x) + 1.
const feature = (tf, x) => tf.add(tf.relu(x), tf.exp(tf.neg(tf.relu(tf.neg(x)))));

const onesAt = (tf, ids, vocab) => tf.cast(tf.oneHot(ids, vocab), 'float32');

/** A trainer like that of the package, from its parameters. */
export function tensorflowTrainer(tf, model, parameters) {
  const { layers, modelDim, heads, hiddenDim, vocab, context, causal = true, attention, optimizer } = model;
  const { learningRate, betas, eps } = optimizer;
  const p = Object.fromEntries(
    Object.entries(parameters).map(([name, { data, shape }]) => [
      name,
      tf.variable(tf.tensor(data, [...shape]), true, name),
    ]),
  );
  const tables = tablesOf(tf, context, modelDim / heads, causal);
  const adam = tf.train.adam(learningRate, ...betas, eps);

  const softmaxMix = (q, k, v) => {
    const [a, b] = [q, k].map((x) => turn(tf, x, tables));
    const scores = tf.mul(tf.matMul(a, b, false, true), tf.scalar((modelDim / heads) ** -0.5));
    return tf.matMul(tf.softmax(tf.add(scores, tables.mask)), v);
  };
  const linearMix = (q, k, v) => {
    const plain = [q, k].map((x) => feature(tf, x));
    const products = ([a, b]) => tf.mul(tf.matMul(a, b, false, true), tables.seen);
    const sums = tf.sum(products(plain), -1, true);
    return tf.div(tf.matMul(products(plain.map((x) => turn(tf, x, tables))), v), sums);
  };
  const mix = attention === undefined ? softmaxMix : linearMix;
  const attend = (x, layer, batch) => {
    const side = (name) =>
      tf.transpose(
        tf.reshape(project(tf, x, p[`layers.${layer}.${name}`]), [batch, context, heads, modelDim / heads]),
        [0, 2, 1, 3],
      );
    const mixed = mix(side('query'), side('key'), side('value'));
    const rows = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch * context, modelDim]);
    return project(tf, rows, p[`layers.${layer}.output`]);
  };
  const feed = (x, layer) => {
    const up = project(tf, x, p[`layers.${layer}.up`]);
    const gelu = tf.mul(tf.mul(up, tf.scalar(0.5)), tf.add(tf.erf(tf.mul(up, tf.scalar(Math.SQRT1_2))), tf.scalar(1)));
    return project(tf, gelu, p[`layers.${layer}.down`]);
  };
  // The mean of the cross entropy over all but the last of each sequence.
  const lossOf = (ids, targets, weights, batch) => {
    let h = tf.matMul(onesAt(tf, ids, vocab), p.embedding);
    for (let l = 0; l < layers; ++l) {
      h = tf.add(h, attend(norm(tf, h, p[`layers.${l}.attention_norm`]), l, batch));
      if (hiddenDim > 0) h = tf.add(h, feed(norm(tf, h, p[`layers.${l}.feed_forward_norm`]), l));
    }
    const logits = project(tf, norm(tf, h, p.final_norm), p.unembedding);
    const picked = tf.sum(tf.mul(tf.logSoftmax(logits), onesAt(tf, targets, vocab)), -1);
    return tf.neg(tf.div(tf.sum(tf.mul(picked, weights)), tf.sum(weights)));
  };

  /** The loss and the gradients by name. */
  const differentiate = ({ ids, targets, weights }) =>
    tf.tidy(() => {
      const [of, to] = [ids, targets].map(({ data }) => tf.tensor1d(data, 'int32'));
      return tf.variableGrads(() => lossOf(of, to, tf.tensor1d(weights), ids.shape[0]), Object.values(p));
    });
  return {
    gradients(batch) {
      const { value, grads } = differentiate(batch);
      const result = { loss: value.dataSync()[0], gradients: {} };
      for (const [name, grad] of Object.entries(grads)) result.gradients[name] = grad.dataSync();
      tf.dispose([value, grads]);
      return result;
    },
    step(batch) {
      const { value, grads } = differentiate(batch);
      adam.applyGradients(grads);
      const loss = value.dataSync()[0];
      tf.dispose([value, grads]);
      return { loss };
    },
    dispose: () => tf.dispose([p, tables, adam]),
  };
}
