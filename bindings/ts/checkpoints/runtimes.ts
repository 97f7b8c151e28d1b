// Converts RoPE parameters of ggml (llama.cpp) and MLX to options. A scaling that this package supports keeps its name;
// any other becomes a list of frequencies, computed in float64.

import { checkRopeOptions, type Pairing, type RopeOptions, type RopeScaling } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import { given, yarnBand } from './kinds.js';

/** Parameters of ggml_rope_ext under their own names; in llama.cpp, those of the context after the model's defaults. */
export interface GgmlRope {
  /** Number of coordinates that rotate; even. */
  n_rot: number;
  /** Coordinates of one head. Default n_rot. */
  head_dim?: number;
  /** 0 NORMAL (interleaved) or 2 NEOX (half). */
  mode: 0 | 2;
  /** Default 10000. */
  freq_base?: number;
  /** Multiplies positions, except for the pairs that YaRN keeps: 1 / factor. Default 1. */
  freq_scale?: number;
  /** Share of YaRN's ramp that applies, from 0 (none, the default) to 1 (all). */
  ext_factor?: number;
  /** Multiplies cos and sin. Default 1. */
  attn_factor?: number;
  /** Default 32. */
  beta_fast?: number;
  /** Default 1. */
  beta_slow?: number;
  /** Number of positions in training; required where ext_factor is not 0. */
  n_ctx_orig?: number;
  /** One for each pair; DIVIDES its angle. */
  freq_factors?: ArrayLike<number>;
}

/** Arguments of mlx.nn.RoPE and mlx.core.fast.rope. */
export interface MlxRope {
  /** Number of coordinates that rotate; even. */
  dims: number;
  /** Coordinates of one head. Default dims. */
  headDim?: number;
  /** true: interleaved pairs. Default false. */
  traditional?: boolean;
  /** Default 10000. Not together with freqs. */
  base?: number;
  /** Multiplies positions. Default 1. */
  scale?: number;
  /** One for each pair, positions per radian: the RECIPROCALS of inverse frequencies. Infinity: no rotation. */
  freqs?: ArrayLike<number>;
}

const pairs: Readonly<Record<string, Pairing>> = { 0: 'interleaved', 2: 'half' };

function list(where: string, name: string, value: unknown, length: number, infinite: boolean): number[] {
  const entries = Array.from(check.list(where, name, value, 'an array of numbers'), (entry, i) =>
    infinite && entry === Infinity ? Infinity : check.positive(where, `${name}[${i}]`, entry),
  );
  if (entries.length === length) return entries;
  const problem = `has ${entries.length} entries; ${2 * length} coordinates are ${length} pairs`;
  throw new ArgumentRangeError(where, name, value, problem);
}

function plan(where: string, headDim: number, rotaryDim: number, rest: Partial<RopeOptions>): RopeOptions {
  const options = { headDim, ...(rotaryDim === headDim ? {} : { rotaryDim }), ...rest };
  checkRopeOptions(where, options);
  return options;
}

/**
 * Options of `rw.rope()` from the parameters of ggml's rope: freq_factors divide angles, and where ext_factor is not 0,
 * cos and sin get attn_factor * (1 + 0.1 ln(1 / freq_scale)).
 *
 * @throws ArgumentRangeError for a mode with several axes, whose order of pairs differs from ours.
 *
 * @example
 * ropeFromGgml({ n_rot: 128, mode: 2, freq_base: 1e6, freq_scale: 0.25, ext_factor: 1, n_ctx_orig: 32768 });
 * // { headDim: 128, base: 1e6, pairing: 'half', scaling: { type: 'yarn', factor: 4, originalLength: 32768, ... } }
 */
export function ropeFromGgml(parameters: GgmlRope): RopeOptions {
  const where = 'ropeFromGgml';
  const sizes = ['n_rot', 'head_dim', 'n_ctx_orig'] as const;
  const frequencies = ['freq_base', 'freq_scale', 'freq_factors'] as const;
  const yarn = ['ext_factor', 'attn_factor', 'beta_fast', 'beta_slow'] as const;
  const p = check.options(where, 'parameters', parameters, [...sizes, 'mode', ...frequencies, ...yarn]);
  const dims = check.even(where, 'n_rot', p.n_rot, 2 ** 20);
  const headDim = check.integer(where, 'head_dim', p.head_dim ?? dims, dims, 2 ** 20);
  const pairing = pairs[check.integer(where, 'mode', p.mode, 0)];
  if (pairing === undefined) {
    throw new ArgumentRangeError(where, 'mode', p.mode, `is ${p.mode}; expected 0 (NORMAL) or 2 (NEOX)`);
  }
  const base = check.base(where, 'freq_base', p.freq_base ?? 10000);
  const scale = check.positive(where, 'freq_scale', p.freq_scale ?? 1);
  const mix = check.finite(where, 'ext_factor', p.ext_factor ?? 0);
  if (mix < 0) {
    const problem = `is ${mix}, by which llama.cpp means the model's own; expected that value`;
    throw new ArgumentRangeError(where, 'ext_factor', p.ext_factor, problem);
  }
  const factors =
    p.freq_factors === undefined ? undefined : list(where, 'freq_factors', p.freq_factors, dims / 2, false);
  const attention = check.positive(where, 'attn_factor', p.attn_factor ?? 1);
  for (const name of ['beta_fast', 'beta_slow', 'n_ctx_orig'] as const) check.finite(where, name, p[name] ?? 0);
  const sequence = { dims, base, scale, attention, factors };
  const scaling = mix === 0 ? unmixed(sequence) : mixed(where, p, sequence, mix);
  return plan(where, headDim, dims, given<Partial<RopeOptions>>({ base, pairing, scaling }));
}

interface Sequence {
  readonly dims: number;
  readonly base: number;
  readonly scale: number;
  readonly attention: number;
  readonly factors: readonly number[] | undefined;
}

function inverse({ dims, base, factors }: Sequence): number[] {
  return Array.from({ length: dims / 2 }, (_, i) => base ** ((-2 * i) / dims) / (factors?.[i] ?? 1));
}

function unmixed(s: Sequence): RopeScaling | undefined {
  if (s.factors === undefined && s.attention === 1) {
    return s.scale === 1 ? undefined : { type: 'linear', factor: 1 / s.scale };
  }
  const inverseFrequencies = inverse(s).map((w) => s.scale * w);
  return { type: 'custom', inverseFrequencies, attentionFactor: s.attention };
}

function mixed(where: string, p: GgmlRope, s: Sequence, mix: number): RopeScaling {
  const originalLength = check.positive(where, 'n_ctx_orig', p.n_ctx_orig);
  const betaFast = check.positive(where, 'beta_fast', p.beta_fast ?? 32);
  const betaSlow = check.positive(where, 'beta_slow', p.beta_slow ?? 1);
  const attentionFactor = s.attention * (1 + 0.1 * Math.log(1 / s.scale));
  if (attentionFactor <= 0) {
    const problem = `is ${s.scale}, which makes cos and sin ${attentionFactor} times what they are`;
    throw new ArgumentRangeError(where, 'freq_scale', s.scale, problem);
  }
  const [low, high] = yarnBand(s.dims, s.base, { originalLength, betaFast, betaSlow });
  // The same formula as ours, unless low > high, where ggml and Hugging Face differ.
  if (mix === 1 && s.factors === undefined && low <= high && s.base > 1) {
    return { type: 'yarn', factor: 1 / s.scale, originalLength, betaFast, betaSlow, attentionFactor };
  }
  const inverseFrequencies = inverse(s).map((w, i) => {
    const kept = mix * (1 - Math.min(1, Math.max(0, (i - low) / Math.max(0.001, high - low))));
    return s.scale * w * (1 - kept) + w * kept;
  });
  return { type: 'custom', inverseFrequencies, attentionFactor };
}

/**
 * Options of `rw.rope()` from the arguments of MLX's RoPE. Its freqs are the reciprocals of inverse frequencies, and
 * its scale multiplies positions.
 *
 * @throws ArgumentRangeError where both base and freqs are given.
 *
 * @example
 * ropeFromMlx({ dims: 64, traditional: true, base: 10000, scale: 0.5 });
 * // { headDim: 64, base: 10000, pairing: 'interleaved', scaling: { type: 'linear', factor: 2 } }
 */
export function ropeFromMlx(parameters: MlxRope): RopeOptions {
  const where = 'ropeFromMlx';
  const names = ['dims', 'headDim', 'traditional', 'base', 'scale', 'freqs'] as const;
  const p = check.options(where, 'parameters', parameters, names);
  const dims = check.even(where, 'dims', p.dims, 2 ** 20);
  const headDim = check.integer(where, 'headDim', p.headDim ?? dims, dims, 2 ** 20);
  const pairing = check.boolean(where, 'traditional', p.traditional ?? false) ? 'interleaved' : 'half';
  const scale = check.positive(where, 'scale', p.scale ?? 1);
  if (p.freqs !== undefined) {
    if (p.base !== undefined) {
      throw new ArgumentRangeError(where, 'base', p.base, 'and freqs exclude each other; give one of them');
    }
    const freqs = list(where, 'freqs', p.freqs, dims / 2, true);
    const scaling: RopeScaling = { type: 'custom', inverseFrequencies: freqs.map((freq) => scale / freq) };
    return plan(where, headDim, dims, { pairing, scaling });
  }
  const base = check.base(where, 'base', p.base ?? 10000);
  const scaling: RopeScaling | undefined = scale === 1 ? undefined : { type: 'linear', factor: 1 / scale };
  return plan(where, headDim, dims, given<Partial<RopeOptions>>({ base, pairing, scaling }));
}
