// How fast this device is: the same work by the package and by plain JavaScript, in turns. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';

/** One head of so many tokens. */
const [tokens, headDim] = [2048, 128];
const [rows, dim] = [2048, 256];

export const works = ['rotate', 'sinusoid'] as const;
export type Work = (typeof works)[number];

export interface Speed {
  readonly work: Work;
  /** Milliseconds, medians. */
  readonly core: number;
  readonly script: number;
}

// RoPE with tables made beforehand, as one would write it without a package.
function rotateInScript(x: Float32Array, cos: Float32Array, sin: Float32Array): void {
  const half = headDim / 2;
  for (let t = 0; t < tokens; ++t) {
    for (let i = 0; i < half; ++i) {
      const [a, b] = [t * headDim + i, t * headDim + i + half];
      const [c, s] = [cos[t * half + i] ?? 0, sin[t * half + i] ?? 0];
      const [first, second] = [x[a] ?? 0, x[b] ?? 0];
      x[a] = first * c - second * s;
      x[b] = first * s + second * c;
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
  const { cos, sin } = plan.tables({ length: tokens });
  const [own, table] = [new Float32Array(tokens * headDim), new Float32Array(rows * dim)];
  const pairs: Record<Work, readonly [() => void, () => void]> = {
    rotate: [() => plan.rotate(x), () => rotateInScript(own, cos, sin)],
    sinusoid: [() => core.sinusoidal({ dim, positions: { length: rows } }), () => sinusoidInScript(table)],
  };
  const times = works.map(() => ({ core: [] as number[], script: [] as number[] }));
  for (let round = 0; round < rounds; ++round) {
    for (const [i, work] of works.entries()) {
      const [byCore, byScript] = pairs[work];
      times[i]?.core.push(time(byCore));
      times[i]?.script.push(time(byScript));
      tell((round * works.length + i + 1) / (rounds * works.length));
    }
  }
  x.dispose();
  plan.dispose();
  return works.map((work, i) => ({ work, core: median(times[i]?.core ?? []), script: median(times[i]?.script ?? []) }));
}

export function speedCode(): string {
  return `import { load } from 'ropewalk';

const rw = await load();   // the fastest build that this engine has
const plan = rw.rope({ headDim: ${headDim} });
const x = rw.tensor([${tokens}, ${headDim}]);

const start = performance.now();
for (let i = 0; i < 100; ++i) plan.rotate(x);
const result = [(performance.now() - start) / 100];   // ms for ${tokens} tokens
`;
}
