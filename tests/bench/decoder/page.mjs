// Runs the rounds inside a page; called by browser.mjs.
import { load } from 'ropewalk';
import { loadModel, openSafetensors } from 'ropewalk/models';
import { runRounds } from './rounds.mjs';

const bytesOf = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

globalThis.runDecoder = async ({ rounds, peer }) => {
  const kernels = {
    'wasm-relaxed': await bytesOf('/wasm-relaxed.wasm'),
    'wasm-simd': await bytesOf('/wasm-simd.wasm'),
  };
  const config = await (await fetch('/model/config.json')).json();
  const weights = new URL('/model/model.safetensors', location.href).href;
  const paths = { onnxruntime: new URL('/peers/onnxruntime-web/dist/', location.href).href };
  return runRounds({ load, loadModel, openSafetensors, config, weights, kernels, rounds, peer, paths });
};
