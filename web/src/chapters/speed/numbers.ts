// How fast this device is: the same work by the package and by plain JavaScript, and a copy of as many numbers, in turns.
// Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';

/** One head of so many tokens. */
const [tokens, headDim] = [2048, 128];
const [rows, dim] = [2048, 256];

export const works = ['rotate', 'sinusoid'] as const;
export type Work = (typeof works)[number];

export const wayNames = ['core', 'script', 'copy'] as const;
export type Way = (typeof wayNames)[number];

/** Milliseconds, medians. */
export interface Speed extends Readonly<Record<Way, number>> {
  readonly work: Work;
}

// RoPE with tables made beforehand, as one would write it without a package.
function rotateInScript(x: Float32Array, cos: Float32Array, sin: Float32Array): void {
  const half = headDim / 2;
  let angle = 0;
  // Two values in an array, taken apart again, would triple the time.
  for (let row = 0; row < x.length; row += headDim) {
    for (let i = row; i < row + half; ++i, ++angle) {
      const c = cos[angle] ?? 0;
      const s = sin[angle] ?? 0;
      const first = x[i] ?? 0;
      const second = x[i + half] ?? 0;
      x[i] = first * c - second * s;
      x[i + half] = first * s + second * c;
    }
  }
}

// Frequencies once, as one would.
function sinusoidInScript(out: Float32Array): void {
  const frequencies = Float64Array.from({ length: dim / 2 }, (_, i) => 10000 ** ((-2 * i) / dim));
  for (let p = 0; p < rows; ++p) {
    for (let i = 0; i < dim / 2; ++i) {
      const angle = p * (frequencies[i] ?? 0);
      out[p * dim + 2 * i] = Math.sin(angle);
      out[p * dim + 2 * i + 1] = Math.cos(angle);
    }
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

// Milliseconds of one call, from as many as fill the time that a clock of a browser can measure.
function time(call: () => void): number {
  let calls = 0;
  const start = performance.now();
  let end = start;
  while (end - start < 20) {
    call();
    ++calls;
    end = performance.now();
  }
  return (end - start) / calls;
}

export function measureSpeed(
  core: Ropewalk,
  { rounds }: { readonly rounds: number },
  tell: (share: number) => void,
): Speed[] {
  const plan = core.rope({ headDim });
  const x = core.tensor([tokens, headDim]);
  const out = core.tensor([rows, dim]);
  const { cos, sin } = plan.tables({ length: tokens });
  const [own, table] = [new Float32Array(tokens * headDim), new Float32Array(rows * dim)];
  const copyOf = (numbers: Float32Array) => {
    const to = new Float32Array(numbers.length);
    return () => to.set(numbers);
  };
  const ways: Record<Work, Record<Way, () => void>> = {
    rotate: { core: () => plan.rotate(x), script: () => rotateInScript(own, cos, sin), copy: copyOf(own) },
    sinusoid: {
      core: () => core.sinusoidal({ dim, positions: { length: rows }, out }),
      script: () => sinusoidInScript(table),
      copy: copyOf(table),
    },
  };
  const times = works.map((work) => ({ work, core: [] as number[], script: [] as number[], copy: [] as number[] }));
  for (let round = 0; round < rounds; ++round) {
    for (const [i, { work, ...all }] of times.entries()) {
      for (const way of wayNames) all[way].push(time(ways[work][way]));
      tell((round * works.length + i + 1) / (rounds * works.length));
    }
  }
  x.dispose();
  out.dispose();
  plan.dispose();
  return times.map(({ work, core, script, copy }) => ({
    work,
    core: median(core),
    script: median(script),
    copy: median(copy),
  }));
}

export function speedCode(): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: ${headDim} });
const x = rw.tensor([${tokens}, ${headDim}]);

const start = performance.now();
for (let i = 0; i < 100; ++i) plan.rotate(x);
const result = [(performance.now() - start) / 100];   // ms for ${tokens} tokens
`;
}
