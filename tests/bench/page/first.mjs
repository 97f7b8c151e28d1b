// A page that only computes a first result; a library is imported when its result is requested.
import { model } from '../../peers/onnx.mjs';
import { firstModel, timeFirst } from '../firsts.mjs';

const paths = {
  onnxruntime: new URL('/peers/onnxruntime-web/dist/', location.href).href,
  tensorflow: new URL('/peers/@tensorflow/tfjs-backend-wasm/dist/', location.href).href,
};

globalThis.runFirst = (name) => timeFirst(name, { paths, model: firstModel(model) });
