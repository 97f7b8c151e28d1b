// Runs the bench inside a page; called by tests/bench/browser.mjs.
import { openAll } from '../contenders/index.mjs';
import { measureAll } from '../measure-all.mjs';
import { measureThreads } from '../threads-measure.mjs';
import { works } from '../works/index.mjs';

// Where the server shows the peers' own files, and the kernels.
const paths = {
  onnxruntime: new URL('/peers/onnxruntime-web/dist/', location.href).href,
  tensorflow: new URL('/peers/@tensorflow/tfjs-backend-wasm/dist/', location.href).href,
};

async function bytesOf(preset) {
  return new Uint8Array(await (await fetch(`/kernels/${preset}.wasm`)).arrayBuffer());
}

globalThis.runBench = async ({ filter, contenders: only, rounds, targets }) => {
  const kernels = { 'wasm-relaxed': await bytesOf('wasm-relaxed'), 'wasm-simd': await bytesOf('wasm-simd') };
  const wanted = new RegExp(only);
  const environment = { node: false, wanted: (id) => wanted.test(id), paths, kernels };
  const contenders = await openAll(environment, console.log);
  const results = {};
  const chosen = works.filter(({ id }) => new RegExp(filter).test(id));
  await measureAll(chosen, contenders, { rounds, targets }, (work, result) => {
    console.log(work.title);
    results[work.id] = result;
  });
  return { contenders: contenders.map(({ id, title, version }) => ({ id, title, version })), results };
};

globalThis.runThreads = (asked) => measureThreads(asked, { node: false, paths }, console.log);
