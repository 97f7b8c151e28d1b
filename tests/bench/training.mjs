// npm run bench:training [-- --rounds N] [--steps N] [--threads]: steps per second of processor time of `ropewalk/training`
// and of TensorFlow.js's wasm backend with its autodiff, for the same small models from the same weights, in alternation in
// one process on one thread. Both losses and all gradients are compared first, and the losses again after the last step. Rates
// are medians over the rounds. Then what two threads gain, in wall time; with --threads that alone.
import { parseArgs } from 'node:util';
import { load, skipLanguageTask } from 'ropewalk/training';
import { tensorflowWithGradients } from '../peers/libraries.mjs';
import { machine, machineLine } from './machine.mjs';
import { summary } from './measure.mjs';
import { columns } from './report.mjs';
import { tensorflowTrainer } from './training/tensorflow.mjs';
import { threadsRates } from './training/threads.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    steps: { type: 'string', default: '10' },
    threads: { type: 'boolean', default: false },
  },
});
const [rounds, steps] = [options.rounds, options.steps].map(Number);

const optimizer = { learningRate: 1e-3, betas: [0.9, 0.98], eps: 1e-8, weightDecay: 0, clip: 0 };
const rope = { position: { encoding: 'rope' }, optimizer };
const small = { modelDim: 32, hiddenDim: 0, vocab: 16, context: 32, ...rope };
// The sizes of experiments A to E of tests/lab.
const models = {
  'order: a layer of 32, 2 heads, 32 tokens, batch 32, bidirectional': {
    batch: 32,
    model: { layers: 1, heads: 2, causal: false, ...small },
  },
  'induction: 2 layers of 32, 2 heads, 48 tokens, batch 32': {
    batch: 32,
    model: { layers: 2, modelDim: 32, heads: 2, hiddenDim: 0, vocab: 32, context: 48, ...rope },
  },
  'language: 2 layers of 32, 4 heads, 32 tokens, batch 32': {
    batch: 32,
    model: { layers: 2, heads: 4, ...small },
  },
  'linear attention: 2 layers of 32, 2 heads, 32 tokens, batch 32': {
    batch: 32,
    model: { layers: 2, heads: 2, attention: { linear: 'elu1', ropeForm: 'numerator' }, ...small },
  },
  'text: 2 layers of 64, 4 heads, 256 hidden, 64 tokens, batch 16': {
    batch: 16,
    model: { layers: 2, modelDim: 64, heads: 4, hiddenDim: 256, vocab: 64, context: 64, ...rope },
  },
};

/** |a - b| / |b| of two arrays as vectors. */
function distance(a, b) {
  let [difference, length] = [0, 0];
  for (const [i, each] of b.entries()) {
    difference += (a[i] - each) ** 2;
    length += each ** 2;
  }
  return Math.sqrt(difference / length);
}

function hold(what, value, most) {
  if (value <= most) return;
  throw new Error(`${what} differ by ${value}; at most ${most} was expected`);
}

function perSecond(trainer, task, batch) {
  const batches = Array.from({ length: steps }, () => task.batch(batch));
  const start = process.cpuUsage();
  let loss;
  for (const each of batches) ({ loss } = trainer.step(each));
  const { user, system } = process.cpuUsage(start);
  return { rate: (1e6 * steps) / (user + system), loss };
}

async function compareWithTensorflow() {
  const rw = await load();
  const { tf, wasm } = await tensorflowWithGradients();
  await tf.setBackend('wasm');
  await tf.ready();
  const rows = [['steps/s', 'ropewalk', `tfjs ${wasm.version_wasm}, wasm`, 'ratio', 'losses after the last step']];
  for (const [title, { batch, model }] of Object.entries(models)) {
    const tasks = [0, 1].map(() => skipLanguageTask({ vocab: model.vocab, tokens: model.context }));
    const own = rw.trainer(model);
    const peer = tensorflowTrainer(tf, model, own.parameters());
    const [first, same] = tasks.map((task) => task.batch(batch));
    const found = peer.gradients(same);
    peer.step(same);
    const { loss } = own.step(first);
    hold('first losses', Math.abs(found.loss - loss) / loss, 1e-5);
    for (const [name, { data }] of Object.entries(own.gradients())) {
      hold(`gradients of ${name}`, distance(found.gradients[name], data), 1e-4);
    }
    const rates = [[], []];
    let last;
    for (let round = 0; round < rounds; ++round) {
      last = [own, peer].map((trainer, i) => {
        const { rate, loss } = perSecond(trainer, tasks[i], batch);
        rates[i].push(rate);
        return loss;
      });
    }
    hold('last losses', Math.abs(last[0] - last[1]) / last[1], 1e-2);
    const [ours, theirs] = rates.map((each) => summary(each).median);
    const ratio = summary(rates[0].map((each, round) => each / rates[1][round])).median;
    rows.push([
      title,
      ours.toFixed(1),
      theirs.toFixed(1),
      ratio.toFixed(1),
      last.map((each) => each.toFixed(4)).join(' / '),
    ]);
    own.dispose();
    peer.dispose();
  }
  return rows;
}

async function compareThreads() {
  const rows = [['steps/s of wall time', 'one thread', 'two', 'ratio']];
  for (const [title, each] of Object.entries(models)) {
    const [one, two] = await threadsRates(each, { rounds, steps });
    rows.push([title, one.toFixed(1), two.toFixed(1), (two / one).toFixed(2)]);
  }
  return rows;
}

console.log(machineLine({ ...machine(), runtime: `Node ${process.version}` }));
if (!options.threads) console.log(columns(await compareWithTensorflow()));
console.log(columns(await compareThreads()));
