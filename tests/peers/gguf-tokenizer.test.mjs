// tokenizerFromGguf with the vocabularies of LLaMA 2, LLaMA 3 and BERT, which packages of other tokenizers hold, against
// what llama.cpp publishes that their GGUF files encode, and against those other tokenizers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Tokenizer } from '@huggingface/tokenizers';
import { tokenizerFromGguf } from '../../dist/models.js';
import { publishedTexts, texts } from '../ts/support/gguf-tokenizer.mjs';
import { bertVocabulary, llama2, llama3 } from './libraries.mjs';

// models/ggml-vocab-*.gguf.out of llama.cpp; the ids of each of publishedTexts, without what is added to a text.
const published = JSON.parse(readFileSync(new URL('published-encodings.json', import.meta.url), 'utf8'));

function made(entries) {
  const prefixed = Object.entries(entries).map(([key, value]) => [`tokenizer.ggml.${key}`, value]);
  const { tokenizerJson, tokenizerConfig } = tokenizerFromGguf({ metadata: new Map(prefixed) });
  return new Tokenizer(tokenizerJson, tokenizerConfig);
}

function assertPublished(name, tokenizer) {
  assert.equal(published[name].length, publishedTexts.length);
  for (const [i, text] of publishedTexts.entries()) {
    const { ids } = tokenizer.encode(text, { add_special_tokens: false });
    assert.equal(ids.join(' '), published[name][i], JSON.stringify(text));
  }
}

const typesOf = (tokens, isControl) =>
  Int32Array.from(tokens, (token, id) => {
    if (isControl(token, id)) return 3;
    return /^<0x[0-9A-F]{2}>$/.test(token) ? 6 : 1;
  });

// A SentencePiece model scores a token by the rank of the merge that makes it.
async function llama2Entries() {
  const { vocabById: tokens, merges } = await llama2();
  const ranks = new Map();
  for (const [merge, rank] of merges) {
    const token = merge.replace(' ', '');
    if (!ranks.has(token)) ranks.set(token, rank);
  }
  const scores = Float32Array.from(tokens, (token) => -(ranks.get(token) ?? 0));
  return { model: 'llama', tokens, scores, token_type: typesOf(tokens, (_, id) => id < 3) };
}

async function llama3Entries() {
  const { vocabById: tokens, merges } = await llama3();
  const token_type = typesOf(tokens, (_, id) => id >= 128000);
  return { model: 'gpt2', pre: 'llama-bpe', tokens, token_type, merges: [...merges.keys()], bos_token_id: 128000 };
}

test('LLaMA 2: BPE with scores', async () => {
  const tokenizer = made(await llama2Entries());
  assertPublished('llama-spm', tokenizer);
  const other = await llama2();
  for (const text of texts.filter((each) => !/<\/?s>|<unk>/.test(each))) {
    const { ids } = tokenizer.encode(text);
    // The other one puts a space before no text, too.
    if (text !== '') assert.deepEqual(ids, other.encode(text), JSON.stringify(text));
    assert.equal(tokenizer.decode(ids, { skip_special_tokens: true }), text);
  }
});

test('LLaMA 3: BPE over bytes', async () => {
  const tokenizer = made(await llama3Entries());
  assertPublished('llama-bpe', tokenizer);
  const other = await llama3();
  for (const text of texts) {
    const { ids } = tokenizer.encode(text);
    assert.deepEqual(ids, other.encode(text, { bos: true, eos: false }), JSON.stringify(text));
    assert.equal(tokenizer.decode(ids, { skip_special_tokens: true }), text);
  }
});

test('BERT: WordPiece', async () => {
  const tokens = (await bertVocabulary()).map((token) => (token === '\u2581' ? '\u2581[unused0]' : token));
  const isControl = (token) => ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'].includes(token);
  const tokenizer = made({ model: 'bert', tokens, token_type: typesOf(tokens, isControl) });
  assertPublished('bert-bge', tokenizer);
  const { ids } = tokenizer.encode('i like strawberries');
  assert.deepEqual(ids, [101, 1045, 2066, 13137, 20968, 102]);
  assert.equal(tokenizer.decode(ids, { skip_special_tokens: true }), 'i like strawberries');
});
