// What tokenizerFromGguf refuses, and what its errors say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GgufError, tokenizerFromGguf } from 'ropewalk/models';
import { failure, ofBytes } from '../support/gguf-tokenizer.mjs';

const refusals = [
  [{ model: undefined }, 'model', 'is missing; expected a text'],
  [{ model: 7 }, 'model', 'is 7; expected a text'],
  [
    { model: 'rwkv' },
    'model',
    'is "rwkv", which is not supported; expected one of "gpt2", "gemma4", "llama", "t5", "bert"',
  ],
  [
    { model: 'gemma3' },
    'model',
    'is "gemma3", which is not supported; near it: "gemma4"; expected one of "gpt2", "gemma4", "llama", "t5", "bert"',
  ],
  [{ pre: undefined }, 'pre', 'is missing; expected a text'],
  [{ pre: 'toString' }, 'pre', /^is "toString", which is not supported; expected one of "gpt-2", .*, "viking"$/],
  [{ tokens: undefined }, 'tokens', 'is missing; expected an array of texts'],
  [{ tokens: ['a', 1] }, 'tokens', 'is Array(2); expected an array of texts'],
  [{ tokens: ['a', 'b', 'a'] }, 'tokens', 'holds "a" twice, as tokens 0 and 2'],
  [{ token_type: Int32Array.of(1) }, 'token_type', /^holds 1 numbers for \d+ tokens$/],
  [
    { token_type: BigInt64Array.of(1n) },
    'token_type',
    'is BigInt64Array(1); expected an array of numbers of at most 32 bits',
  ],
  [{ token_type: [1] }, 'token_type', 'is [1]; expected an array of numbers of at most 32 bits'],
  [{ merges: undefined }, 'merges', 'is missing; expected an array of texts'],
  [{ merges: ['a b', ' c'] }, 'merges', 'holds " c"; expected two tokens with a space between'],
  [{ eos_token_id: '2' }, 'eos_token_id', 'is "2"; expected a whole number'],
  [{ eos_token_id: 1.5 }, 'eos_token_id', 'is 1.5; expected a whole number'],
  [{ eos_token_id: 9999 }, 'eos_token_id', /^is 9999, the id of no token; expected less than \d+$/],
  [{ eot_token_id: 2n ** 32n }, 'eot_token_id', /^is 4294967296, the id of no token; expected less than \d+$/],
  [{ add_bos_token: 1 }, 'add_bos_token', 'is 1; expected true or false'],
  [{ add_bos_token: true }, 'bos_token_id', 'is missing, or the id of no token; the tokenizer needs it'],
  [{ add_sep_token: true, seperator_token_id: 9999 }, 'seperator_token_id', /^is missing, or the id of no token/],
  [{ model: 'llama', merges: undefined, scores: Float32Array.of(0) }, 'scores', /^holds 1 numbers for \d+ tokens$/],
  [{ model: 'llama', add_space_prefix: 'no' }, 'add_space_prefix', 'is "no"; expected true or false'],
  [
    { model: 't5', unknown_token_id: 9999 },
    'unknown_token_id',
    'is missing, or the id of no token; the tokenizer needs it',
  ],
  [{ model: 'bert', seperator_token_id: 9999 }, 'seperator_token_id', /^is missing, or the id of no token/],
  [{ model: 't5', precompiled_charsmap: 'AA==' }, 'precompiled_charsmap', /^is "AA=="; expected an array of numbers/],
];
for (const [entries, key, problem] of refusals) {
  test(`${JSON.stringify(Object.entries(entries).map(([name, value]) => [name, String(value)]))} is refused`, () => {
    const metadata = ofBytes();
    for (const [name, value] of Object.entries(entries)) {
      if (value === undefined) metadata.delete(`tokenizer.ggml.${name}`);
      else metadata.set(`tokenizer.ggml.${name}`, value);
    }
    const error = failure(metadata);
    assert.ok(error instanceof GgufError, error);
    assert.equal(error.key, `tokenizer.ggml.${key}`);
    assert.equal(error.file, 'GGUF');
    const start = `GGUF: "tokenizer.ggml.${key}": `;
    assert.equal(error.message.slice(0, start.length), start);
    const said = error.message.slice(start.length);
    if (typeof problem === 'string') assert.equal(said, problem);
    else assert.match(said, problem);
  });
}

test('errors name the file of an open one, and a template that is no text', () => {
  const metadata = new Map([['tokenizer.ggml.model', 'none']]);
  const file = { metadata, file: 'model.gguf' };
  assert.throws(() => tokenizerFromGguf(file), { name: 'GgufError', file: 'model.gguf' });
  const error = failure(ofBytes({ 'tokenizer.chat_template.rag': 3 }));
  assert.equal(error.message, 'GGUF: "tokenizer.chat_template.rag": is 3; expected a text');
});

test('what is no open file is refused', () => {
  for (const file of [undefined, null, 'model.gguf', {}, { metadata: {} }]) {
    assert.throws(() => tokenizerFromGguf(file), {
      name: 'ArgumentTypeError',
      message: /^tokenizerFromGguf: file is .*; expected an open GGUF file$/,
    });
  }
});
