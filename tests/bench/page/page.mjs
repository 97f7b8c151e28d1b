// The bench inside a page: tests/bench/browser.mjs calls it.
import { openAll } from '../contenders/index.mjs';
import { measure } from '../measure.mjs';
import { works } from '../works/index.mjs';

// Where the server shows the peers' own files, and the kernels.
const paths = {
  onnxruntime: new URL('/peers/onnxruntime-web/dist/', location.href).href,
  tensorflow: new URL('/peers/@tensorflow/tfjs-backend-wasm/dist/', location.href).href,
};

async function bytesOf(preset) {
  return new Uint8Array(await (await fetch(`/kernels/${preset}.wasm`)).arrayBuffer());
}

globalThis.runBench = async ({ filter, contenders: only, rounds }) => {
  const kernels = { 'wasm-relaxed': await bytesOf('wasm-relaxed'), 'wasm-simd': await bytesOf('wasm-simd') };
  const wanted = new RegExp(only);
  const environment = { node: false, wanted: (id) => wanted.test(id), paths, kernels };
  const contenders = await openAll(environment, console.log);
  const results = {};
  const chosen = new RegExp(filter);
  for (const work of works.filter(({ id }) => chosen.test(id))) {
    console.log(work.title);
    results[work.id] = await measure(work, contenders, { rounds });
  }
  return { contenders: contenders.map(({ id, title, version }) => ({ id, title, version })), results };
};
