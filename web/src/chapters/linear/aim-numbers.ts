// How sharply each form can look at one distance: a query built to match a key so many positions back, over equal
// keys. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { wordVector } from '../../programs/word-vector';
import { unitRows, unitRowsCode, wordVectorSource } from './inputs';

export const aimKeys = 64;

/** Weights by distance, the query's own place first. */
export interface Aim {
  readonly softmax: Float32Array;
  readonly cosine: Float32Array;
  readonly features: Float32Array;
}

export function aim(core: Ropewalk, dim: number, back: number): Aim {
  const plan = core.rope({ headDim: dim, pairing: 'interleaved' });
  try {
    const key = Float32Array.from(wordVector('key', dim));
    const k = {
      data: Float32Array.from({ length: aimKeys * dim }, (_, i) => key[i % dim] ?? 0),
      shape: [aimKeys, dim],
    };
    const q = { data: plan.rotate(key, { positions: [-back] }), shape: [1, dim] };
    const v = unitRows(aimKeys);
    const position = { encoding: 'rope', plan } as const;
    return {
      softmax: core.attention(q, k, v, { position }).out.data.reverse(),
      cosine: core.linearAttention(q, k, v, { position, similarity: 'cosine' }).out.data.reverse(),
      features: core.linearAttention(q, k, v, { position }).out.data.reverse(),
    };
  } finally {
    plan.dispose();
  }
}

export function aimCode(dim: number, back: number): string {
  return `import { load } from 'ropewalk';

${wordVectorSource}
${unitRowsCode}

const rw = await load({ simd: 'deterministic' });
const [T, D] = [${aimKeys}, ${dim}];
const plan = rw.rope({ headDim: D, pairing: 'interleaved' });
const position = { encoding: 'rope', plan };

const key = Float32Array.from(wordVector('key', D));
const k = { data: Float32Array.from({ length: T * D }, (_, i) => key[i % D]), shape: [T, D] };
const q = { data: plan.rotate(key, { positions: [${-back}] }), shape: [1, D] };   // matches the key ${back} back
const v = unitRows(T);

const softmax = rw.attention(q, k, v, { position }).out.data.reverse();
const cosine = rw.linearAttention(q, k, v, { position, similarity: 'cosine' }).out.data.reverse();
const features = rw.linearAttention(q, k, v, { position }).out.data.reverse();
const result = Array.from({ length: T }, (_, d) => [softmax[d], cosine[d], features[d]]).flat();
`;
}
