// Trains the page's model in two parts. From text alone induction takes longer to form than there is time for, so that
// attention learns it first, from ids that repeat; feed-forward parts are added to it, and both learn the text.
import { inductionTask } from 'ropewalk/training';
import { rw } from '../experiment.mjs';

const seed = 1;
const layers = 2;
const model = { layers, modelDim: 96, heads: 4, context: 128, position: { encoding: 'rope' }, seed };
const learning = { learningRate: 3e-3, betas: [0.9, 0.98], weightDecay: 0.05 };
const each = 200;

// Of few ids it is learnt in 200 steps; more are added to what is known. Steps, and so many ids.
const course = [
  [300, 32],
  [100, 128],
  [200, Infinity],
];
const [ofCourse, courseTokens] = [32, 48]; // sequences of a batch, tokens of each
const hiddenDim = 384;
const steps = 2000;
const [ofText, ofRepeats] = [14, 2]; // sequences of a batch, each of all tokens of the context

// Places in the text at which sequences begin: multiples of the golden ratio, which spread evenly over any number of steps.
const placeOf = (nth, places) => Math.floor((((nth * (Math.sqrt(5) - 1)) / 2) % 1) * places);

// The parameters of attention that has learnt induction.
function learnInduction(vocab, told) {
  const trainer = rw.trainer({ ...model, vocab, optimizer: { ...learning, warmup: 50 } });
  for (const [count, most] of course) {
    const options = { vocab: Math.min(most, vocab), tokens: courseTokens, period: [8, 24], seed };
    const task = inductionTask(options);
    for (let step = 0; step < count; ++step) trainer.step(task.batch(ofCourse));
    const { accuracy } = trainer.evaluate(inductionTask({ ...options, stream: 1 }).batch(ofCourse));
    told(`${trainer.steps} steps: ${accuracy.toFixed(3)} of repeated ids, of ${options.vocab}`);
  }
  const parameters = trainer.parameters();
  trainer.dispose();
  return parameters;
}

/** A trained trainer; `told` is given lines on how it goes. */
export function trainModel(ids, vocab, told) {
  const { context: tokens, modelDim } = model;
  const optimizer = { ...learning, warmup: 100, totalSteps: steps };
  const trainer = rw.trainer({ ...model, vocab, hiddenDim, optimizer });
  trainer.setParameters(learnInduction(vocab, told));
  // At first feed-forward parts add nothing.
  const nothing = { data: new Float32Array(modelDim * hiddenDim), shape: [modelDim, hiddenDim] };
  for (let layer = 0; layer < layers; ++layer) trainer.setParameters({ [`layers.${layer}.down`]: nothing });

  const options = { vocab, tokens, period: [8, 48], seed };
  const repeats = inductionTask(options);
  const others = inductionTask({ ...options, stream: 1 }).batch(8);
  const shape = [ofText + ofRepeats, tokens];
  let [nth, sum] = [0, 0];
  for (let step = 1; step <= steps; ++step) {
    const data = new Int32Array(shape[0] * tokens);
    const targets = new Int32Array(data.length);
    const weights = new Float32Array(data.length);
    const other = repeats.batch(ofRepeats);
    data.set(other.ids.data);
    targets.set(other.targets.data);
    weights.set(other.weights);
    for (let at = ofRepeats * tokens; at < data.length; at += tokens) {
      const place = placeOf(++nth, ids.length - tokens);
      data.set(ids.subarray(place, place + tokens), at);
      targets.set(ids.subarray(place + 1, place + tokens + 1), at);
      weights.fill(1, at, at + tokens);
    }
    sum += trainer.step({ ids: { data, shape }, targets: { data: targets, shape }, weights }).loss;
    if (step % each > 0) continue;
    const { accuracy } = trainer.evaluate(others);
    told(`${step} steps: loss ${(sum / each).toFixed(3)}, ${accuracy.toFixed(3)} of repeated ids`);
    sum = 0;
  }
  return trainer;
}
