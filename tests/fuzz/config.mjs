// npm run fuzz -- config [SECONDS [RUNS]]: config.json files made of the words that the readers know, with values of all kinds. What
// ropeFromConfig takes makes a plan; what is refused is refused by an error of the package; no memory is kept.
import { readdirSync, readFileSync } from 'node:fs';
import { load, ropeFromConfig } from 'ropewalk';
import { errorNames } from '../ts/support/bad-values.mjs';

const [seconds, most, seed] = [60, -1, Date.now() % 2 ** 31].map((usual, i) => Number(process.argv[2 + i] ?? usual));
const limit = most < 0 ? Number.POSITIVE_INFINITY : most;
let state = seed;
console.log(`seed ${seed}`);
const { stackTraceLimit } = Error;
Error.stackTraceLimit = 0; // a refusal takes half of its time to tell where it was

function random(count) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * count);
}
const oneOf = (list) => list[random(list.length)];

/** The words in the source of the readers: names of fields, and of what they may hold. */
function wordsOf(folder) {
  const path = new URL(`../../bindings/ts/${folder}/`, import.meta.url);
  const files = readdirSync(path).filter((name) => name.endsWith('.ts'));
  return files.flatMap(
    (name) => readFileSync(new URL(name, path), 'utf8').match(/(?<=')[a-zA-Z][\w.]{2,40}(?=')/g) ?? [],
  );
}
const words = [...new Set([...wordsOf('checkpoints'), ...wordsOf('models/families')])];
const fields = words.filter((word) => /_/.test(word));
const numbers = [0, -0, 1, 2, 3, 4, 8, 16, 32, 64, 80, 128, 1024, 4096, 8192, 131072, 0.25, 0.5, 1.5, 10000, 5e5, 1e6];
const odd = [
  -1,
  NaN,
  Infinity,
  -Infinity,
  1e300,
  1e-300,
  5e-324,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  null,
  '',
  'x',
  true,
  false,
];

function anyValue(depth) {
  switch (random(8)) {
    case 0:
    case 1:
    case 2:
      return oneOf(numbers);
    case 3:
      return oneOf(odd);
    case 4:
      return oneOf(words);
    case 5:
      return Array.from({ length: depth > 3 ? 0 : random(20) }, () => anyValue(depth + 2));
    default:
      return depth > 3 ? {} : configOf(depth + 1, random(8));
  }
}

function configOf(depth, count) {
  const config = {};
  for (let i = 0; i < count; ++i) config[oneOf(fields)] = anyValue(depth);
  return config;
}

/** A config of the usual fields, so that many are taken, and some of any kind. */
function usualConfig() {
  const config = { model_type: oneOf(words), hidden_size: 64 * (1 + random(4)), num_attention_heads: 1 + random(4) };
  if (random(2) === 0) config.head_dim = 2 * random(40);
  if (random(2) === 0) config.num_hidden_layers = random(6);
  if (random(2) === 0) config.rope_theta = oneOf(numbers);
  if (random(2) === 0) config.max_position_embeddings = oneOf(numbers);
  if (random(2) === 0) {
    config[oneOf(['rope_scaling', 'rope_parameters'])] = { rope_type: oneOf(words), ...configOf(2, random(6)) };
  }
  return { ...config, ...configOf(1, random(5)) };
}

const rw = await load();
const calls = { ropeFromConfig, explainRope: (config, options) => rw.explainRope(config, options) };
const counts = { runs: 0, taken: 0 };
const before = rw.memory().usedBytes;
const end = Date.now() + 1000 * seconds;
while (Date.now() < end && counts.runs < limit) {
  for (let i = 0; i < 100 && counts.runs < limit; ++i) {
    const config = random(4) === 0 ? configOf(0, random(12)) : usualConfig();
    const options = random(2) === 0 ? undefined : { layerType: oneOf(words), sequenceLength: oneOf(numbers) };
    for (const [name, call] of Object.entries(calls)) {
      ++counts.runs;
      try {
        const result = call(config, options);
        if (name === 'ropeFromConfig' && result !== null) rw.rope(result).dispose();
        ++counts.taken;
      } catch (error) {
        if (errorNames.has(error?.name) && error.message.length < 2100) continue;
        console.error(name, JSON.stringify(config), options, error);
        Error.stackTraceLimit = stackTraceLimit;
        call(config, options);
        process.exit(1);
      }
    }
  }
}
const kept = rw.memory().usedBytes - before;
console.log(`config: ${counts.runs} runs, ${counts.taken} taken, ${kept} bytes kept`);
process.exit(kept === 0 ? 0 : 1);
