// Runs every program of docs/models.md unchanged, with a tiny model in place of the large one.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { safetensorsOf } from '../models/tiny/files.mjs';
import { ggufOf } from '../models/tiny/gguf.mjs';
import { tinyModel } from '../models/tiny/models.mjs';
import { folderWith } from './support/folder.mjs';
import { root, run } from './support/node.mjs';
import { sendRange, serve } from './support/server.mjs';

const page = readFileSync(join(root, 'docs', 'models.md'), 'utf8');
const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map((match) => match[1]);
const address = 'https://example.org/SmolLM2-135M-Instruct/';
const ggufAddress = 'https://example.org/SmolLM2-135M-Instruct-Q8_0.gguf';
const encoderAddress = 'https://example.org/all-MiniLM-L6-v2/';
const translatorAddress = 'https://example.org/opus-mt-en-de/';

// Words for the 97 ids of the tiny model.
const words = ['<s>', '</s>', 'the', 'sun', 'rises', 'in', 'and', 'moon'];
const vocab = Object.fromEntries(Array.from({ length: 97 }, (_, id) => [words[id] ?? `word${id}`, id]));
const tokenizer = {
  ...{ version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, post_processor: null },
  pre_tokenizer: { type: 'Whitespace' },
  decoder: null,
  model: { type: 'WordLevel', vocab, unk_token: '<s>' },
};

// The same words as a vocabulary of a GGUF file, and a template.
const template = '{% for message in messages %}<s>{{ message.content }}{% endfor %}';
// The seed of below leads to the 29th, which ends a turn though no key says so.
const numbered = Array.from({ length: 86 }, (_, i) => (i === 29 ? '<end_of_turn>' : `${i}`));
const inGguf = ({ metadata }) => ({
  metadata: {
    ...metadata,
    'tokenizer.ggml.model': ['str', 'gpt2'],
    'tokenizer.ggml.pre': ['str', 'gpt-2'],
    'tokenizer.ggml.tokens': [['str'], ['<s>', '</s>', ...'thesunri\u0120', ...numbered]],
    'tokenizer.ggml.token_type': [['i32'], Array.from({ length: 97 }, (_, i) => (i < 2 ? 3 : 1))],
    'tokenizer.ggml.merges': [['str'], []],
    'tokenizer.ggml.bos_token_id': ['u32', 0],
    'tokenizer.ggml.eos_token_id': ['u32', 1],
    'tokenizer.ggml.eot_token_id': ['u32', 3],
    'tokenizer.chat_template': ['str', template],
  },
});

async function served(t) {
  const [model, encoder, translator] = [tinyModel('llama3'), tinyModel('bert'), tinyModel('marian')];
  const files = {
    'config.json': JSON.stringify({ ...model.config, eos_token_id: 96 }),
    'model.safetensors': safetensorsOf(model),
    'tokenizer.json': JSON.stringify(tokenizer),
    'tokenizer_config.json': '{}',
    'm.gguf': ggufOf(tinyModel('llama-linear'), undefined, inGguf),
    'encoder/config.json': JSON.stringify(encoder.config),
    'encoder/model.safetensors': safetensorsOf(encoder),
    'translator/config.json': JSON.stringify(translator.config),
    'translator/model.safetensors': safetensorsOf(translator),
  };
  const { url } = await serve(t, (request, response) => {
    sendRange(request, response, Buffer.from(files[request.url.slice(1)]));
  });
  return (code) =>
    code
      .replaceAll(ggufAddress, `${url}/m.gguf`)
      .replaceAll(address, `${url}/`)
      .replaceAll(encoderAddress, `${url}/encoder/`)
      .replaceAll(translatorAddress, `${url}/translator/`);
}

/** A folder with these files, in which `ropewalk` is the built package. */
function projectWith(t, files) {
  const folder = folderWith(t, { 'package.json': '{"type":"module"}', ...files });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules', 'ropewalk'));
  return folder;
}

const named = (name) => blocks.filter((code) => code.startsWith(`// ${name}\n`));
const plain = blocks.filter((code) => !/^\/\/ \w+\.js\n/.test(code));

test('the programs of docs/models.md run one after the other', async (t) => {
  assert.ok(plain.length >= 6);
  const code = (await served(t))(plain.join('\n'));
  const folder = projectWith(t, { 'page.js': code });
  const tokenizers = join('node_modules', '@huggingface');
  symlinkSync(join(root, tokenizers), join(folder, tokenizers));
  const { stdout, stderr } = await run([join(folder, 'page.js')], { cwd: folder });
  assert.equal(stderr, '');
  assert.match(stdout, /^100 %$/m);
  assert.match(stdout, /model\.safetensors \d+ complete/);
  assert.match(stdout, /^(\S+ ){11}\S+$/m); // twelve tokens, decoded
  assert.match(stdout, /^alike: -?[01]\.\d{3}$/m);
  assert.match(stdout, /^translated: \d tokens from 4$/m);
  assert.match(stdout, /^head 5: the last word looks most at "(the|sun|rises|in)"$/m);
  assert.match(stdout, /^likeliest next: \S+$/m);
  assert.equal([...stdout.matchAll(/^\d+\.\d\d hardest: \S+$/gm)].length, 2);
  assert.match(stdout, /^ntk up to 5: \d+\.\d\d, up to 11: \d+\.\d\d$/m);
  assert.match(stdout, /^true logits 0$/m);
});

test('so does that of a GGUF file', async (t) => {
  const [code] = named('gguf.js');
  // Without a seed the first token may be a space, or the end.
  const seeded = (await served(t))(code).replace('maxTokens: 40', 'maxTokens: 40, seed: 2');
  assert.match(seeded, /seed: 2/);
  const { stdout, stderr } = await run(['--input-type=module', '--eval', seeded]);
  assert.equal(stderr, '');
  assert.match(stdout, /^1\n\S/m);
  assert.doesNotMatch(stdout, /h|<end_of_turn>/); // what ends a turn, by its key and by its name
});

test('so do worker and page', async (t) => {
  const [[worker], [main]] = [named('worker.js'), named('page.js')];
  const change = await served(t);
  // What a browser has and Node has not: Worker, and a worker's scope that takes messages.
  const scope = `import { parentPort } from 'node:worker_threads';
globalThis.on = parentPort.on.bind(parentPort);
globalThis.postMessage = parentPort.postMessage.bind(parentPort);\n`;
  const threads = `import { Worker } from 'node:worker_threads';\n`;
  const folder = projectWith(t, { 'worker.js': scope + worker, 'page.js': threads + change(main) });
  const { stdout, stderr } = await run([join(folder, 'page.js')]);
  assert.equal(stderr, '');
  assert.match(stdout, /loaded: \d+/);
  assert.equal(stdout.match(/^\d+$/gm).length, 4);
});
