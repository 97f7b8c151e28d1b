// The model types that loadModel knows from the start, without `_text`.

import { gemma } from './gemma.js';
import { gemma2 } from './gemma2.js';
import { gemma3 } from './gemma3.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { phi3 } from './phi3.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { smollm3 } from './smollm3.js';

export const common = { gemma, gemma2, gemma3, llama, mistral, phi3, qwen2, qwen3, smollm3 };
