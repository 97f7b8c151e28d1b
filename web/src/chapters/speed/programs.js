// The same work by the package and by plain JavaScript, and a copy of as many numbers, as its program shows it.
// @ts-nocheck
/** @import { Ropewalk } from 'ropewalk' */

/**
 * Milliseconds of one call.
 * @type {(call: () => void) => number}
 */
export const time = (call) => {
  let calls = 0;
  const start = performance.now();
  let end = start;
  // As many as fill the time that a clock of a browser can measure.
  while (end - start < 20) {
    call();
    ++calls;
    end = performance.now();
  }
  return (end - start) / calls;
};

/** @type {(numbers: Float32Array) => () => void} */
export const copyOf = (numbers) => {
  const to = new Float32Array(numbers.length);
  return () => to.set(numbers);
};

/**
 * RoPE of one head of 2048 tokens, and as one would write it without a package, with tables made beforehand.
 * @type {(rw: Ropewalk) => Record<'core' | 'script' | 'copy' | 'dispose', () => void>}
 */
export const rotations = (rw) => {
  const [tokens, headDim] = [2048, 128];
  const plan = rw.rope({ headDim });
  const tensor = rw.tensor([tokens, headDim]);
  const { cos, sin } = plan.tables({ length: tokens });
  const x = new Float32Array(tokens * headDim);
  const half = headDim / 2;
  const script = () => {
    let angle = 0;
    // Two values in an array, taken apart again, would triple the time.
    for (let row = 0; row < x.length; row += headDim) {
      for (let i = row; i < row + half; ++i, ++angle) {
        const c = cos[angle];
        const s = sin[angle];
        const first = x[i];
        const second = x[i + half];
        x[i] = first * c - second * s;
        x[i + half] = first * s + second * c;
      }
    }
  };
  const dispose = () => {
    for (const each of [tensor, plan]) each.dispose();
  };
  return { core: () => plan.rotate(tensor), script, copy: copyOf(x), dispose };
};

/**
 * A sinusoidal table of 2048 rows, and as one would write it without a package, with frequencies made once.
 * @type {(rw: Ropewalk) => Record<'core' | 'script' | 'copy' | 'dispose', () => void>}
 */
export const sinusoids = (rw) => {
  const [rows, dim] = [2048, 256];
  const out = rw.tensor([rows, dim]);
  const table = new Float32Array(rows * dim);
  const script = () => {
    const frequencies = Float64Array.from({ length: dim / 2 }, (_, i) => 10000 ** ((-2 * i) / dim));
    for (let p = 0; p < rows; ++p) {
      for (let i = 0; i < dim / 2; ++i) {
        const angle = p * frequencies[i];
        table[p * dim + 2 * i] = Math.sin(angle);
        table[p * dim + 2 * i + 1] = Math.cos(angle);
      }
    }
  };
  const core = () => rw.sinusoidal({ dim, positions: { length: rows }, out });
  return { core, script, copy: copyOf(table), dispose: () => out.dispose() };
};

/**
 * Causal self-attention with RoPE over some tokens: 8 heads of 32, with weights that are as good as any. Gives what runs
 * it, and its last result.
 * @type {(rw: Ropewalk, tokens: number) => { run(): void, result(): Float32Array, dispose(): void }}
 */
export const layerPass = (rw, tokens) => {
  const [modelDim, heads] = [256, 8];
  const some = (length) => Float32Array.from({ length }, (_, i) => ((i * 7919) % 1009) / 1009 - 0.5);
  const names = ['query', 'key', 'value', 'output'];
  const weights = Object.fromEntries(names.map((name) => [name, some(modelDim * modelDim)]));
  const layer = rw.attentionLayer({ modelDim, heads, causal: true, position: { encoding: 'rope' }, weights });
  const x = rw.tensor([1, tokens, modelDim], some(tokens * modelDim));
  const out = rw.tensor([1, tokens, modelDim]);
  const dispose = () => {
    for (const each of [x, out, layer]) each.dispose();
  };
  return { run: () => layer.forward(x, { out }), result: () => out.data(), dispose };
};

export const errorHead = 128;
export const exponents = Array.from({ length: 21 }, (_, i) => i + 4);

/**
 * The largest error of cos and sin, over all pairs, of angles formed in float32.
 * @type {(rw: Ropewalk, base: number) => number[]}
 */
export const angleErrors = (rw, base) => {
  const exact = rw.rope({ headDim: errorHead, base });
  const rounded = rw.rope({ headDim: errorHead, base, angles: 'float32' });
  const worst = (p, q) => p.reduce((most, value, i) => Math.max(most, Math.abs(value - q[i])), 0);
  // Of the 16 positions that end at each power of two.
  const errors = exponents.map((exponent) => {
    const at = { length: 16, offset: 2 ** exponent - 16 };
    const [a, b] = [exact.tables(at), rounded.tables(at)];
    return Math.max(worst(a.cos, b.cos), worst(a.sin, b.sin));
  });
  for (const plan of [exact, rounded]) plan.dispose();
  return errors;
};
