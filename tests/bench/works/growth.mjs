// How the cost of attention grows: with the number of tokens, the size of a head, the number of heads. Causal cores.
import { attention } from './attention.mjs';

const tokens = [128, 256, 512, 1024, 2048, 4096, 8192, 16384];
const headDims = [32, 64, 128];
const heads = [1, 2, 4, 8, 16];

const named = (axis, value, work) => ({ ...work, id: `growth ${axis} ${value}`, growth: { axis, value } });

export const works = [
  ...tokens.map((T) => named('T', T, attention(8, T, 64, true))),
  ...headDims.map((D) => named('D', D, attention(8, 1024, D, true))),
  ...heads.map((H) => named('H', H, attention(H, 1024, 64, true))),
];
