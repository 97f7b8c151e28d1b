// BPE over bytes: how texts are split before it, by each name of tokenizer.ggml.pre.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tokenizer } from '@huggingface/tokenizers';
import {
  assertSame,
  byteLevel,
  bytes,
  encodes,
  failure,
  made,
  metadataOf,
  ofBytes,
  split,
  splits,
  texts,
} from '../support/gguf-tokenizer.mjs';

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const llama3 = `${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const o200k = `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+${contractions}?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*${contractions}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const tekken = o200k.replaceAll(`${contractions}?`, '').replace('{1,3}', '');
// What the tokenizer.json of models of these names has.
const published = {
  'gpt-2': [bytes(true)],
  mpt: [bytes(true), { normalizer: { type: 'NFC' } }],
  smollm: [splits(split('\\p{N}'), bytes(true))], // Digits, which the JavaScript knows in ASCII only
  'command-r': [splits(split('\\p{N}'), bytes(true)), { normalizer: { type: 'NFC' } }],
  'llama-bpe': [splits(split(llama3), bytes(false)), { ignore_merges: true }],
  'chatglm-bpe': [splits(split(llama3), bytes(false))],
  qwen2: [splits(split(llama3.replace('{1,3}', '')), bytes(false)), { normalizer: { type: 'NFC' } }],
  stablelm2: [splits(split(llama3.replace('{1,3}', '')), bytes(false))],
  'gpt-4o': [splits(split(o200k, 'Removed', true), bytes(false))],
  tekken: [splits(split(tekken), bytes(false)), { ignore_merges: true }],
  tiny_aya: [splits(split('\\d{1,3}(?=(?:\\d{3})*\\b)'), split(o200k), bytes(false))],
  minicpm5: [splits(split('\\p{N}{1,3}'), split(llama3.replace('{1,3}', '+')), bytes(false)), { ignore_merges: true }],
  'deepseek-v3': [
    splits(
      split('\\p{N}{1,3}'),
      split('[一-龥぀-ゟ゠-ヿ]+'),
      split(
        '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+',
      ),
      bytes(false),
    ),
  ],
  bloom: [splits(split(' ?[^(\\s|[.,!?…。，、।۔،])]+'), bytes(false))],
};

for (const [pre, [pre_tokenizer, options]] of Object.entries(published)) {
  test(`BPE over bytes, split as ${pre} splits, encodes every text as its tokenizer.json does`, () => {
    const tokenizerJson = byteLevel(pre_tokenizer, options);
    const entries = { 'tokenizer.ggml.pre': pre, 'tokenizer.ggml.add_bos_token': false };
    assertSame(metadataOf('gpt2', tokenizerJson, {}, { entries }), tokenizerJson);
  });
}

test('every name that is listed splits every text, and decoding puts it together again', () => {
  const [, list] = /expected one of (.*)$/.exec(failure(ofBytes({ 'tokenizer.ggml.pre': 'none' })).message);
  const names = JSON.parse(`[${list}]`);
  assert.ok(names.length > 50);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) {
    const tokenizer = made(
      ofBytes({
        'tokenizer.ggml.pre': name,
        'tokenizer.ggml.add_bos_token': false,
        'tokenizer.ggml.add_sep_token': false,
      }),
    );
    for (const text of texts.filter((each) => each !== '').map((each) => each.normalize('NFC'))) {
      assert.equal(tokenizer.decode(tokenizer.encode(text).ids), text, name);
    }
  }
});

// How llama.cpp's expressions split; Ġ is a space, Ċ a line feed.
const pieces = {
  default: ["It's 12345!?", "It|'|s|Ġ|123|45|!?"],
  falcon: ["It's 12345 !?", "It|'|s|Ġ|123|45|Ġ|!?"],
  'deepseek-coder': ['x=12;\n y', 'x|=|1|2|;|Ċ|Ġy'],
  viking: [' Hej, v12', 'ĠHej|,|Ġv|1|2'],
  tekken: ['HtmlParser 12', 'Html|Parser|Ġ|1|2'],
  'gpt-4o': ["HtmlParser's 12345", "Html|Parser's|Ġ|123|45"],
  tiny_aya: ['1234567', '1|234|567'],
  'granite-embed-multi-97m': ["HtmlParser's 12345", "Html|Parser's|Ġ|123|45"],
  minicpm5: ["HtmlParser's 12345!\n", "HtmlParser|'s|Ġ|123|45|!Ċ"],
  'deepseek-v3': ['1234你好x?y', '123|4|ä½łå¥½|x|?y'],
  qwen35: ['का1', 'à¤ķà¤¾|1'],
  qwen2: ['का1', 'à¤ķ|à¤¾|1'],
};
for (const [pre, [text, expected]] of Object.entries(pieces)) {
  test(`${pre} splits ${JSON.stringify(text)} into ${expected}`, () => {
    const tokenizer = made(ofBytes({ 'tokenizer.ggml.pre': pre, 'tokenizer.ggml.add_bos_token': false }));
    assert.equal(tokenizer.pre_tokenizer.pre_tokenize(text).join('|'), expected);
  });
}

const pieceList = (tokenizer, text) => tokenizer.pre_tokenizer.pre_tokenize(text);

test('tiny_aya splits numbers beside all else as its tokenizer.json does', () => {
  const original = new Tokenizer(byteLevel(...published.tiny_aya), {});
  const tokenizer = made(ofBytes({ 'tokenizer.ggml.pre': 'tiny_aya', 'tokenizer.ggml.add_bos_token': false }));
  const symbols = [...'1234567890aZ_ .-\n', ...'\u00e9\u0663\uff14\u00b2\u4e2d\u0301\u2028\u{1f600}\u{1d7d8}'];
  let seed = 1;
  const random = (count) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % count;
  };
  for (let i = 0; i < 5000; ++i) {
    const kinds = i % 2 === 0 ? symbols.length : 13;
    const text = Array.from({ length: 1 + random(16) }, () => symbols[random(kinds)]).join('');
    assert.deepEqual(pieceList(tokenizer, text), pieceList(original, text), JSON.stringify(text));
  }
});

// A time of the square of the length would be hours.
test('tiny_aya splits a million digits', () => {
  const tokenizer = made(ofBytes({ 'tokenizer.ggml.pre': 'tiny_aya', 'tokenizer.ggml.add_bos_token': false }));
  const digits = '1'.repeat(999999);
  assert.equal(pieceList(tokenizer, digits).length, 333333);
  assert.equal(pieceList(tokenizer, `${digits}x`).length, 333334);
});

test('a word that is a token is one where merges are ignored', () => {
  const stored = byteLevel(null);
  stored.model.merges = [];
  const entries = { 'tokenizer.ggml.add_bos_token': false, 'tokenizer.ggml.pre': 'llama-bpe' };
  assert.equal(encodes(made(metadataOf('gpt2', stored, {}, { entries })), ' world'), 'Ġworld');
  entries['tokenizer.ggml.pre'] = 'dbrx';
  assert.equal(encodes(made(metadataOf('gpt2', stored, {}, { entries })), ' world'), 'Ġ|w|o|r|l|d');
});
