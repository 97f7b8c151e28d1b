// The work of a decoder of SmolLM2-135M's shape: loading, reading a prompt, decoding. Runs in Node and in a page.
import { random } from '../random.mjs';

export const promptTokens = 512;
export const decodedTokens = 16;

export const promptOf = (config) =>
  Array.from(random(promptTokens, 5), (v) => Math.floor(((v + 1) / 2) * config.vocab_size));

/** Operations per pass: a multiply-add counts as two, and the head runs for one token only. */
export function arithmeticOf(config) {
  const { hidden_size: M, intermediate_size: N, num_hidden_layers: L, vocab_size: V } = config;
  const { num_attention_heads: H, num_key_value_heads: G } = config;
  const D = M / H;
  const weights = L * (2 * M * H * D + 2 * M * G * D + 3 * M * N);
  const attention = (queries, keys) => L * 4 * H * D * queries * keys;
  return {
    prefill: 2 * weights * promptTokens + attention(promptTokens, promptTokens / 2) + 2 * V * M,
    decode: 2 * (weights + V * M) + attention(1, promptTokens),
  };
}

// Of the processor where a process can ask for it, so that others on the machine count less; of the clock in a page.
function now() {
  if (globalThis.process?.cpuUsage === undefined) return performance.now() / 1000;
  const { user, system } = globalThis.process.cpuUsage();
  return (user + system) / 1e6;
}

export const seconds = async (work) => {
  const start = now();
  await work();
  return now() - start;
};

/** Gives { loadSeconds, weights, peak, heap, prefill(), decode(), cacheBytes, close() }; memory in bytes. */
export async function openOurs({ load, loadModel, simd, config, weights, onProgress }) {
  const rw = await load({ simd });
  rw.resetPeak();
  let model;
  const loadSeconds = await seconds(async () => {
    model = await loadModel(rw, { config, weights, ...(onProgress && { onProgress }) });
  });
  const loadPeak = rw.memory().peak;
  const cache = model.kvCache({ capacity: promptTokens + decodedTokens });
  const prompt = promptOf(config);
  const drain = async (generated) => {
    for await (const _ of generated);
  };
  return {
    ...{ simd: rw.info().simd, loadSeconds, weights: model.info.bytes, parameters: model.info.parameters, loadPeak },
    async prefill() {
      cache.reset();
      await drain(model.generate(prompt, { cache, maxTokens: 0 }));
    },
    // The first of them is given, the others are chosen; each is read.
    async decode() {
      cache.truncate(promptTokens);
      await drain(model.generate([1], { cache, maxTokens: decodedTokens - 1, temperature: 0 }));
    },
    logits: (ids) => model.forward(ids).logits.data,
    cacheBytes: () => cache.bytes,
    memory: () => rw.memory(),
    close: () => model.dispose(),
  };
}
