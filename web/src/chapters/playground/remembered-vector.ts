// What wordVector gives, remembered: moving a slider of the stack asks for the same weights again and again.
import { wordVector } from '../../programs/word-vector';

const known = new Map<string, number[]>();
// Some seeds' worth of weights, a few megabytes.
const most = 150;

export const rememberedVector: typeof wordVector = (word, size) => {
  const key = `${size} ${word}`;
  let vector = known.get(key);
  if (vector === undefined) {
    if (known.size >= most) known.clear();
    vector = wordVector(word, size);
    known.set(key, vector);
  }
  return vector;
};
