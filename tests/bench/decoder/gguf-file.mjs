// GGUF files of SmolLM2-135M's shape with random weights in blocks, and a vocabulary in which a letter is a token.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tensors } from '../../models/families/llama.mjs';
import { ggufOf } from '../../models/tiny/gguf.mjs';
import { smollm2Config } from '../../models/tiny/smollm2.mjs';
import { blockSizes, randomBlocks } from '../../ts/support/blocks.mjs';

// Rows of 576 are no whole super-blocks: llama.cpp keeps such matrices in Q5_0 or Q8_0 where it writes Q4_K.
const fits = (type, columns) => columns % blockSizes[type][0] === 0;
const fallback = { q4_k: 'q5_0' };

function tokensOf(count) {
  const letters = Array.from({ length: 26 }, (_, i) => String.fromCharCode(97 + i));
  return [...letters, ...Array.from({ length: count - 26 }, (_, i) => `${i}`)];
}

/** The path of the file with blocks of a type, made in the folder if it is missing. */
export function ggufFile(folder, type) {
  const path = join(folder, `smollm2-${type}.gguf`);
  if (existsSync(path)) return path;
  const vectors = ([, [length], deviation, mean]) =>
    Float32Array.from({ length }, (_, i) => mean + (deviation * (i % 7)) / 7);
  const empty = { data: new Uint16Array(0), dtype: 'BF16' };
  const model = {
    config: smollm2Config,
    tensors: Object.fromEntries(
      tensors(smollm2Config).map((each) => {
        const [name, shape] = each;
        return [name, shape.length === 2 ? { ...empty, shape } : { dtype: 'F32', shape, data: vectors(each) }];
      }),
    ),
  };
  const quantize = (_, { shape }, i = shape[0] % 97) => {
    const [rows, columns] = shape;
    const own = fits(type, columns) ? type : fallback[type];
    return { dtype: own.toUpperCase(), shape, data: randomBlocks(own, rows * columns, i) };
  };
  const vocabulary = ({ metadata }) => ({
    metadata: {
      ...metadata,
      'tokenizer.ggml.model': ['str', 'gpt2'],
      'tokenizer.ggml.pre': ['str', 'gpt-2'],
      'tokenizer.ggml.tokens': [['str'], tokensOf(smollm2Config.vocab_size)],
      'tokenizer.ggml.merges': [['str'], []],
      'tokenizer.ggml.bos_token_id': ['u32', 0],
      'tokenizer.ggml.eos_token_id': ['u32', 1],
      'tokenizer.ggml.add_bos_token': ['bool', false],
    },
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, ggufOf(model, quantize, vocabulary));
  return path;
}
