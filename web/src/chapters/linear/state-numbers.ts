// The memory of a cache and of a state, and a sequence taken in pieces. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { randomRows, randomRowsCode, wordVectorSource } from './inputs';

/** A curve has so many steps. */
export const memorySteps = 16;
export const piecedTokens = 256;

export interface Memory {
  /** Bytes of a cache for each sixteenth of the tokens, from one of them on. */
  readonly cache: readonly number[];
  readonly state: number;
}

export function memory(core: Ropewalk, dim: number, tokens: number): Memory {
  const cache = Array.from({ length: memorySteps }, (_, i) => {
    const made = core.kvCache({ headDim: dim, kvHeads: 1, capacity: ((i + 1) * tokens) / memorySteps, growing: false });
    const { bytes } = made;
    made.dispose();
    return bytes;
  });
  const state = core.linearAttentionState({ headDim: dim });
  const { bytes } = state;
  state.dispose();
  return { cache, state: bytes };
}

/** For each token the largest difference between a sequence taken in pieces and taken at once. */
export function pieceDifferences(core: Ropewalk, dim: number, piece: number): Float64Array {
  const plan = core.rope({ headDim: dim, pairing: 'interleaved' });
  const position = { encoding: 'rope', plan } as const;
  const state = core.linearAttentionState({ headDim: dim, position });
  try {
    const rows = (name: string) => randomRows(name, piecedTokens, dim);
    const [q, k, v] = [rows('query'), rows('key'), rows('value')];
    const whole = core.linearAttention(q, k, v, { causal: true, position }).out.data;
    const largest = new Float64Array(piecedTokens);
    for (let first = 0; first < piecedTokens; first += piece) {
      const end = Math.min(first + piece, piecedTokens);
      const cut = ({ data }: typeof q) => ({ data: data.subarray(first * dim, end * dim), shape: [end - first, dim] });
      const { data } = state.append(cut(q), cut(k), cut(v)).out;
      for (const [i, value] of data.entries()) {
        const token = first + Math.floor(i / dim);
        const difference = Math.abs(value - (whole[first * dim + i] ?? 0));
        largest[token] = Math.max(largest[token] ?? 0, difference);
      }
    }
    return largest;
  } finally {
    state.dispose();
    plan.dispose();
  }
}

export function stateCode(dim: number, tokens: number, piece: number): string {
  return `import { load } from 'ropewalk';

${wordVectorSource}
${randomRowsCode}

const rw = await load({ simd: 'deterministic' });
const D = ${dim};
const bytes = Array.from({ length: ${memorySteps} }, (_, i) => {
  const capacity = (i + 1) * ${tokens / memorySteps};
  return [rw.kvCache({ headDim: D, kvHeads: 1, capacity, growing: false }).bytes, rw.linearAttentionState({ headDim: D }).bytes];
});

const T = ${piecedTokens};
const plan = rw.rope({ headDim: D, pairing: 'interleaved' });
const position = { encoding: 'rope', plan };
const [q, k, v] = ['query', 'key', 'value'].map((name) => rows(name, T, D));
const whole = rw.linearAttention(q, k, v, { causal: true, position }).out.data;

const state = rw.linearAttentionState({ headDim: D, position });
const largest = new Float64Array(T);
for (let first = 0; first < T; first += ${piece}) {
  const end = Math.min(first + ${piece}, T);
  const cut = ({ data }) => ({ data: data.subarray(first * D, end * D), shape: [end - first, D] });
  const { data } = state.append(cut(q), cut(k), cut(v)).out;
  for (const [i, value] of data.entries()) {
    const token = first + Math.floor(i / D);
    largest[token] = Math.max(largest[token], Math.abs(value - whole[first * D + i]));
  }
}
const result = [...bytes.flat(), ...largest];
`;
}
