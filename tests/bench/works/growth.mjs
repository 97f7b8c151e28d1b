// Works that show how cost grows with the number of tokens, head size and number of heads: rotation, attention, a
// decoding step over that many cached tokens, and linear attention. Default: 8 heads of 64, 1024 tokens.
import { attention } from './attention.mjs';
import { decodeStep } from './layers.mjs';
import { linearAttention } from './linear-attention.mjs';
import { rope } from './rope.mjs';

const kinds = {
  rope: (H, T, D) => rope('half', H, T, D),
  'attention, full': (H, T, D) => attention(H, T, D, false),
  'attention, causal': (H, T, D) => attention(H, T, D, true),
  'decode step': (H, T, D) => decodeStep(H * D, H, T),
  'linear attention': linearAttention,
};
const axes = {
  T: { values: [128, 256, 512, 1024, 2048, 4096, 8192, 16384], sizes: (T) => [8, T, 64] },
  D: { values: [32, 64, 128], sizes: (D) => [8, 1024, D] },
  H: { values: [1, 2, 4, 8, 16], sizes: (H) => [H, 1024, 64] },
};

export const works = Object.entries(kinds).flatMap(([kind, make]) =>
  Object.entries(axes).flatMap(([axis, { values, sizes }]) =>
    values.map((value) => ({
      ...make(...sizes(value)),
      id: `growth ${kind} ${axis} ${value}`,
      growth: { kind, axis, value },
    })),
  ),
);
