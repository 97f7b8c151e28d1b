// How good the page's model is: what a text that it was not trained on costs it, where its heads look, what it writes.
import { Tokenizer } from '@huggingface/tokenizers';
import { load } from 'ropewalk';
import { loadModel, perplexity } from 'ropewalk/models';
import { inductionTask } from 'ropewalk/training';
import { lossesByChange } from '../../../web/src/chapters/playground/losses.js';
import { holds, mean, meanAttention, printTable } from '../experiment.mjs';
import { encodeAll } from './bpe.mjs';
import { readModel } from './files.mjs';

const length = 128;
const period = 32;
const passages = 16;
const prompts = ['Emma ', 'It was ', '"My dear Miss '];

const wordsOf = (text) => text.toLowerCase().match(/[a-z]+/g) ?? [];

// Mean attention of every head, by layers: to the token before in a text, and to the token after the same one in ids that
// repeat.
function scoresOfHeads(model, ids) {
  const maps = (rows) => model.forward(rows, { capture: ['probabilities'], logits: 'none' }).captured;
  const text = maps({ data: ids.subarray(0, passages * length), shape: [passages, length] });
  const task = inductionTask({ vocab: model.config.vocabSize, tokens: length, period: [period, period], stream: 2 });
  const repeated = maps(task.batch(passages).ids);
  const scores = (all, distanceOf) =>
    all.map(({ probabilities: { data, shape } }) => meanAttention(data, shape, distanceOf));
  return {
    previous: scores(text, (_, t) => (t > 0 ? 1 : undefined)),
    induction: scores(repeated, (_, t) => (t >= period ? period - 1 : undefined)),
  };
}

/** Prints it, and what must hold. `seen` is the text that it was trained on. */
export async function checkModel(seen, unseen) {
  const { tokenizer: rules, ...files } = readModel();
  const tokenizer = new Tokenizer(rules, {});
  const model = await loadModel(await load({ simd: 'deterministic' }), files);
  const ids = encodeAll(tokenizer, unseen);

  const { loss } = await perplexity(model, ids.subarray(0, 20000), { length, stride: length / 2 });
  const bits = (loss / Math.LN2) * (ids.length / unseen.length);
  console.log(`\nheld out: loss ${loss.toFixed(3)} a token, ${bits.toFixed(2)} bits a character`);
  holds(`less than 1.7 bits a character: ${bits.toFixed(2)}`, bits < 1.7);

  const scores = scoresOfHeads(model, ids);
  for (const [name, layers] of Object.entries(scores)) {
    const rows = Object.fromEntries(layers.map((heads, i) => [`layer ${i + 1}`, heads]));
    printTable(
      `Scores of heads: ${name}`,
      layers[0].map((_, h) => `head ${h + 1}`),
      rows,
    );
    const best = Math.max(...layers.flat());
    holds(`a head of ${name} > 0.4: ${best.toFixed(2)}`, best > 0.4);
  }

  const all = Array.from({ length: 8 }, (_, i) => Array.from(ids.subarray(i * length, (i + 1) * length)));
  const costs = [];
  for (const [i, one] of all.entries()) costs.push(await lossesByChange(model, one, i + 1));
  const rows = Object.keys(costs[0]).map((name) => [name, [mean(costs.flatMap((each) => each[name]))]]);
  printTable('Loss a token, by what is changed of the positions', ['loss'], Object.fromEntries(rows));
  const [[, [own]], [, [shuffled]]] = rows;
  holds(`shuffled positions cost more than 1: ${(shuffled - own).toFixed(2)}`, shuffled > own + 1);

  const known = new Set(wordsOf(seen));
  let [words, right] = [0, 0];
  for (const [seed, prompt] of prompts.entries()) {
    const given = tokenizer.encode(prompt).ids;
    const written = [];
    for await (const { token } of model.generate(given, { maxTokens: 100, temperature: 0.8, seed }))
      written.push(token);
    const text = tokenizer.decode([...given, ...written]);
    console.log(`\n${text}`);
    // The last word may be cut.
    for (const word of wordsOf(text).slice(0, -1)) {
      words += 1;
      right += known.has(word) ? 1 : 0;
    }
  }
  holds(`samples are words: ${right} of ${words}`, right > 0.9 * words);
  model.dispose();
}
