// node main.js FOLDER "a question"
// Lines of text by meaning. FOLDER holds an encoder as it is on Hugging Face, such as sentence-transformers/all-MiniLM-L6-v2:
// config.json, model.safetensors, tokenizer.json, tokenizer_config.json.
import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';

const sentences = [
  'A cat sleeps on the warm stove.',
  'The train to the coast leaves at nine.',
  'Bread rises better in a warm room.',
  'The harbour is full of small boats.',
];

const [folder, question] = process.argv.slice(2);
const json = async (name) => JSON.parse(await readFile(`${folder}/${name}`, 'utf8'));

const rw = await load();
const model = await loadModel(rw, { config: await json('config.json'), weights: `${folder}/model.safetensors` });
const tokenizer = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));

// The mean of the last layer over all tokens, of length 1: then a dot product is the cosine of the angle between two.
const embed = (text) => model.embedText(tokenizer.encode(text).ids).data;

const asked = embed(question);
const scored = sentences.map((sentence) => ({
  sentence,
  score: embed(sentence).reduce((sum, value, i) => sum + value * asked[i], 0),
}));
for (const { sentence, score } of scored.sort((a, b) => b.score - a.score)) {
  console.log(score.toFixed(3), sentence);
}
model.dispose();
