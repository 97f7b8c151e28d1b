// node main.js FOLDER
// A conversation with a small model, such as HuggingFaceTB/SmolLM2-135M-Instruct. FOLDER holds its config.json,
// model.safetensors, tokenizer.json and tokenizer_config.json. The cache keeps what was said, so each turn reads only
// the new words.
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';

const [folder] = process.argv.slice(2);
const json = async (name) => JSON.parse(await readFile(`${folder}/${name}`, 'utf8'));

const rw = await load();
const config = await json('config.json');
const model = await loadModel(rw, { config, weights: `${folder}/model.safetensors` });
const tokenizer = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));
const capacity = Math.min(2048, config.max_position_embeddings); // tokens of the whole conversation
const cache = model.kvCache({ capacity });

const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
terminal.prompt();
for await (const words of terminal) {
  // ChatML, the template of SmolLM2 and Qwen. The token that ended the answer before was not given, nor is it in the cache.
  const end = cache.length > 0 ? '<|im_end|>\n' : '';
  const turn = `${end}<|im_start|>user\n${words}<|im_end|>\n<|im_start|>assistant\n`;
  const { ids } = tokenizer.encode(turn, { add_special_tokens: false });
  const maxTokens = Math.min(128, capacity - cache.length - ids.length);
  if (maxTokens < 1) {
    console.log('The conversation is as long as the cache.');
    break;
  }
  const said = [];
  let shown = '';
  const options = { cache, maxTokens, stop: config.eos_token_id ?? [], temperature: 0.7, topP: 0.9 };
  for await (const { token } of model.generate(ids, options)) {
    said.push(token);
    const text = tokenizer.decode(said, { skip_special_tokens: true });
    process.stdout.write(text.slice(shown.length));
    shown = text;
  }
  process.stdout.write('\n');
  terminal.prompt();
}
cache.dispose();
model.dispose();
