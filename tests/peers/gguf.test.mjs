// The same GGUF files in llama.cpp (wllama, in Chromium): the greedy tokens, and how likely each is.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { loadModel } from '../../dist/models.js';
import { load } from '../../dist/node.js';
import { ggufOf } from '../models/tiny/gguf.mjs';
import { tinyModel } from '../models/tiny/models.mjs';
import { q8 } from '../ts/support/blocks.mjs';
import { tinyLlama } from '../ts/support/tiny-models.mjs';
import { launch } from '../web/site.mjs';

// One character for each token, so that a text tells its tokens.
const tokens = ['<s>', '</s>', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(33 + i))].slice(0, 97);
tokens[96] = '\u0120';
const vocabulary = {
  'tokenizer.ggml.model': ['str', 'gpt2'],
  'tokenizer.ggml.pre': ['str', 'gpt-2'],
  'tokenizer.ggml.tokens': [['str'], tokens],
  'tokenizer.ggml.token_type': [['i32'], tokens.map((_, i) => (i < 2 ? 3 : 1))],
  'tokenizer.ggml.merges': [['str'], []],
  'tokenizer.ggml.bos_token_id': ['u32', 0],
  'tokenizer.ggml.eos_token_id': ['u32', 1],
  'tokenizer.ggml.add_bos_token': ['bool', false],
};
const prompt = 'AbcD!xyZ9';

const wide = tinyLlama({
  ...{ vocab_size: 97, hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2, num_attention_heads: 4 },
  ...{ num_key_value_heads: 2, head_dim: 16 },
});
const inBlocks = (_, tensor) => ({ dtype: 'Q8_0', shape: tensor.shape, data: q8(tensor.data) });

// What wllama does not compute as Hugging Face: Phi-3's window. Scales that its header has no key for.
const usual = ({ config, ...model }) => ({
  ...model,
  config: {
    ...config,
    ...(config.model_type === 'phi3' && { sliding_window: null }),
    ...('query_pre_attn_scalar' in config && { query_pre_attn_scalar: config.head_dim }),
  },
});
const names = ['llama3', 'llama-linear', 'qwen2', 'qwen3-yarn', 'smollm3', 'gemma2', 'gemma3', 'phi3', 'gpt-neox'];
const models = {
  ...Object.fromEntries(names.map((name) => [name, [usual(tinyModel(name, { dtype: 'F32' }))]])),
  'llama in Q8_0': [wide, inBlocks],
};

const entry = ({ metadata }) => {
  const { 'tokenizer.ggml.model': _, ...rest } = metadata;
  return { metadata: { ...rest, ...vocabulary } };
};
const files = new Map(
  Object.entries(models).map(([name, [model, quantize]], i) => [name, [`/${i}.gguf`, ggufOf(model, quantize, entry)]]),
);

const library = new URL('./node_modules/@wllama/wllama/esm/', import.meta.url);
const types = { js: 'text/javascript', wasm: 'application/wasm' };
const contents = new Map([['/', '<!doctype html><title>t</title>'], ...files.values()]);
const server = createServer(async ({ url }, response) => {
  const body = contents.get(url) ?? (await readFile(new URL(url.slice(1), library)).catch(() => undefined));
  if (body === undefined) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': types[url.split('.').at(-1)] ?? 'text/html' }).end(body);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await launch();
after(async () => {
  await browser.close();
  server.close();
});
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/`);

const byWllama = (path) =>
  page.evaluate(
    async ([address, text]) => {
      const { Wllama } = await import('/index.js');
      const wllama = new Wllama({ default: '/wasm/wllama.wasm' }, { suppressNativeLog: true });
      const blob = await (await fetch(address)).blob();
      const cache = { cache_type_k: 'f32', cache_type_v: 'f32' };
      await wllama.loadModel([blob], { n_ctx: 48, n_threads: 1, n_gpu_layers: 0, ...cache });
      const { choices } = await wllama.createCompletion({
        ...{ prompt: text, max_tokens: 16, temperature: 0, top_k: 1, logprobs: 1 },
      });
      await wllama.exit();
      return choices[0].logprobs.content.map(({ id, logprob }) => ({ token: id, logprob }));
    },
    [path, prompt],
  );

const rw = await load();
const ids = Array.from(prompt, (character) => tokens.indexOf(character));

for (const [name, [path, gguf]] of files) {
  test(`${name}: wllama chooses the same tokens with the same probabilities`, async () => {
    const want = await byWllama(path);
    const model = await loadModel(rw, { gguf });
    const got = [];
    for await (const { token, logprob } of model.generate(ids, { maxTokens: 16, temperature: 0, logprobs: true })) {
      got.push({ token, logprob });
      if (token === 1) break;
    }
    model.dispose();
    const chosen = (list) => list.map(({ token }) => tokens[token]).join('');
    // Both round inputs of products to bytes, with scales that round otherwise: later tokens may be another of two alike.
    const both = Math.min(got.length, want.length, name === 'llama in Q8_0' ? 8 : 16);
    assert.ok(both >= 1);
    assert.equal(chosen(got.slice(0, both)), chosen(want.slice(0, both)));
    want.slice(0, both).forEach(({ logprob }, i) => {
      assert.ok(
        Math.abs(got[i].logprob - logprob) <= (name === 'llama in Q8_0' ? 0.05 : 0.02),
        `${i}: ${got[i].logprob}, wllama ${logprob}`,
      );
    });
  });
}
