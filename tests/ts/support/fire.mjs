// Random parameters of FIRE.
import { randomArray } from './arrays.mjs';

export const fireParameters = (heads, width = 6) => ({
  c: 0.25,
  threshold: 12,
  hiddenWeights: randomArray([width], 1),
  hiddenBias: randomArray([width], 2),
  outWeights: randomArray([heads, width], 3),
  outBias: randomArray([heads], 4),
});
