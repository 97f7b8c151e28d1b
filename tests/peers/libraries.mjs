// The peers, imported here because their node_modules is in this folder. Each is imported only when needed.

export const onnxruntimeWeb = () => import('onnxruntime-web/wasm');
export const onnxruntimeNode = () => import('onnxruntime-node');
export const jax = () => import('@jax-js/jax');

/** tfjs and its wasm backend, which registers itself with tfjs. */
export async function tensorflow() {
  const [tf, wasm] = await Promise.all([import('@tensorflow/tfjs-core'), import('@tensorflow/tfjs-backend-wasm')]);
  return { tf, wasm };
}
