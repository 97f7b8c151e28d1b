// The model types that can be loaded, without `_text`. To add one, add an entry. Those of which only the rotary encoding
// is known are in others.ts.

import { bert } from './bert.js';
import { gemma } from './gemma.js';
import { gemma2 } from './gemma2.js';
import { gemma3 } from './gemma3.js';
import { gptNeox } from './gpt-neox.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { nomicBert } from './nomic-bert.js';
import { phi3 } from './phi3.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { roformer } from './roformer.js';
import { ropewalk } from './ropewalk.js';
import { smollm3 } from './smollm3.js';

export const families = {
  bert,
  gemma,
  gemma2,
  gemma3,
  gpt_neox: gptNeox,
  llama,
  mistral,
  nomic_bert: nomicBert,
  phi3,
  qwen2,
  qwen3,
  roformer,
  ropewalk,
  smollm3,
};
