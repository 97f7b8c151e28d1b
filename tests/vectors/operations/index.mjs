// Every operation of the package: its name in the vectors -> (rw, params, inputs) => outputs.
import { absolute } from './absolute.mjs';
import { analysis } from './analysis.mjs';
import { attention } from './attention.mjs';
import { axes } from './axes.mjs';
import { bias } from './bias.mjs';
import { cache } from './cache.mjs';
import { config } from './config.mjs';
import { gguf } from './gguf.mjs';
import { layers } from './layers.mjs';
import { linear } from './linear.mjs';
import { norms } from './norms.mjs';
import { onnx } from './onnx.mjs';
import { onnxAttention } from './onnx-attention.mjs';
import { relative } from './relative.mjs';
import { rope } from './rope.mjs';
import { safetensors } from './safetensors.mjs';
import { sinusoidal } from './sinusoidal.mjs';
import { training } from './training.mjs';

export const operations = {
  ...absolute,
  ...sinusoidal,
  ...rope,
  ...axes,
  ...analysis,
  ...attention,
  ...cache,
  ...config,
  ...gguf,
  ...bias,
  ...linear,
  ...relative,
  ...layers,
  ...norms,
  ...onnx,
  ...onnxAttention,
  ...safetensors,
  ...training,
};
