// scripts/model-cards.mjs, which writes the table of docs/models.md.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readModelConfig } from 'ropewalk/models';
import { cardsOf, tableOf } from '../../scripts/model-cards.mjs';
import { tinyModel, variants } from '../models/tiny/models.mjs';
import { root } from './support/node.mjs';

const sizes = {
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  vocab_size: 1000,
};
const caseOf = (name, config) => ({ name, params: { config: { ...sizes, ...config } } });

test('a card says what readModelConfig makes of a file', () => {
  const cards = cardsOf([
    caseOf('B full_attention', { model_type: 'gemma2', head_dim: 16, sliding_window: 8, attention_sink_size: 4 }),
    caseOf('B sliding_attention', { model_type: 'gemma2', head_dim: 16, sliding_window: 8 }),
    caseOf('A 5000', { model_type: 'llama', rope_scaling: { rope_type: 'linear', factor: 2 } }),
    caseOf('C', { model_type: 'smollm3' }),
    caseOf('D', { model_type: 'bert' }),
    caseOf('LlamaConfig', { model_type: 'llama' }),
    caseOf('refused', { model_type: 'llama', alibi: true }),
  ]);
  // Token vectors, twice where they are not tied, attention of four heads of 16, and the feed-forward part.
  const layers = 4 * (4 * 64 * 64 + 3 * 64 * 128);
  const millions = (n) => `${Math.round(n / 1e6)} M`;
  const twoKinds = 'base 10000, window 8; 2 layers: RoPE of 16, half, base 10000';
  assert.deepEqual(cards, [
    ['D', 'bert', 'absolute', millions(64 * 1000 + 4 * (4 * 64 * 64 + 2 * 64 * 128)), 'safetensors, GGUF'],
    ['B', 'gemma2', `2 layers: RoPE of 16, half, ${twoKinds}`, millions(64 * 1000 + layers), 'safetensors, GGUF'],
    ['A', 'llama', 'RoPE of 16, half, base 10000, linear × 2', millions(2 * 64 * 1000 + layers), 'safetensors, GGUF'],
    [
      ...['C', 'smollm3', '3 layers: RoPE of 16, half, base 2000000; 1 layers: none'],
      ...[millions(64 * 1000 + layers), 'safetensors, GGUF'],
    ],
  ]);
  assert.equal(tableOf(cards.slice(0, 1)).split('\n').length, 4);
});

test('a decoder behind an encoder counts, and attends twice', () => {
  const widths = {
    model_type: 't5',
    architectures: ['T5ForConditionalGeneration'],
    d_model: 512,
    d_kv: 64,
    d_ff: 2048,
  };
  const counts = { num_heads: 8, num_layers: 6, vocab_size: 32128, decoder_start_token_id: 0 };
  const cards = cardsOf([{ name: 't5-small', params: { config: { ...widths, ...counts } } }]);
  // The file of google-t5/t5-small has 60.5 million.
  assert.deepEqual(cards, [['t5-small', 't5', 't5', '60 M', 'safetensors, GGUF']]);
});

test('the files of a card are those of a row of its family in docs/models.md', () => {
  const page = readFileSync(join(root, 'docs', 'models.md'), 'utf8');
  const files = {};
  for (const [, families, list] of page.matchAll(/^\| ([^|]+) \| [^|]+ \| [^|]+ \| (safetensors[^|]*) \| /gm)) {
    for (const family of families.split(', ')) files[family] = [...(files[family] ?? []), list.replace(/ \(.*/, '')];
  }
  const cards = cardsOf(variants.map((name) => ({ name, params: { config: tinyModel(name).config } })));
  assert.equal(cards.length, variants.length);
  for (const [name, family, , , formats] of cards) assert.ok(files[family].includes(formats), `${name}: ${formats}`);
});

test('the table of docs/models.md has families that there are', () => {
  const page = readFileSync(join(root, 'docs', 'models.md'), 'utf8');
  const [, table] = /<!-- npm run cards -->\n\n([\s\S]*?)\n<!-- end -->/.exec(page);
  const rows = table.trimEnd().split('\n').slice(2);
  assert.ok(rows.length > 10);
  for (const row of rows) {
    const family = row.split(' | ')[1];
    assert.throws(() => readModelConfig({ model_type: family }), /hidden_size|activation_function/, family);
  }
});
