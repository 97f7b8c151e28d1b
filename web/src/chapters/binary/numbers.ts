// The numbers of the binary figures. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';

export interface BinaryCodes {
  /** [positions, bits], the highest bit first. */
  readonly codes: Float32Array;
  /** For each position but the last, how many bits change on the way to the next. */
  readonly flips: readonly number[];
}

export function binaryCodes(core: Ropewalk, bits: number): BinaryCodes {
  const length = 2 ** bits;
  const codes = core.binary({ bits, positions: { length }, msbFirst: true });
  const { data } = core.analysis.pairwise({ data: codes, shape: [length, bits] }, 'hamming');
  return { codes, flips: Array.from({ length: length - 1 }, (_, p) => data[p * length + p + 1] ?? 0) };
}

/** What the package says of a position, in bits or in words where it has no room for it. */
export function encode(core: Ropewalk, bits: number, position: number): string | Error {
  try {
    return core.binary({ bits, positions: [position], msbFirst: true }).join('');
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

export function binaryCode(bits: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const length = ${2 ** bits};
const codes = rw.binary({ bits: ${bits}, positions: { length }, msbFirst: true });

// How many bits change from each position to the next.
const { data } = rw.analysis.pairwise({ data: codes, shape: [length, ${bits}] }, 'hamming');
const flips = Array.from({ length: length - 1 }, (_, p) => data[p * length + p + 1]);
const result = [...codes, ...flips];
`;
}

export interface Neighbours {
  /** [positions, positions] */
  readonly binary: Float32Array;
  readonly sinusoidal: Float32Array;
}

const sinusoidDim = 32;

/** How far apart every two positions are: in bits, and as rows of a sinusoidal table. */
export function neighbours(core: Ropewalk, bits: number): Neighbours {
  const length = 2 ** bits;
  const codes = core.binary({ bits, positions: { length } });
  const waves = core.sinusoidal({ dim: sinusoidDim, positions: { length } });
  return {
    binary: core.analysis.pairwise({ data: codes, shape: [length, bits] }, 'hamming').data,
    sinusoidal: core.analysis.pairwise({ data: waves, shape: [length, sinusoidDim] }, 'euclidean').data,
  };
}

export function neighboursCode(bits: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const length = ${2 ** bits};
const codes = rw.binary({ bits: ${bits}, positions: { length } });
const waves = rw.sinusoidal({ dim: ${sinusoidDim}, positions: { length } });

const inBits = rw.analysis.pairwise({ data: codes, shape: [length, ${bits}] }, 'hamming');
const inWaves = rw.analysis.pairwise({ data: waves, shape: [length, ${sinusoidDim}] }, 'euclidean');
const result = [...inBits.data, ...inWaves.data];
`;
}
