// The form of linear attention: how queries and keys are compared, where RoPE enters, and how sums are normalised.

import type { LinearAttentionCall, LinearAttentionOptions } from '../calls.js';
import { LinearKernel } from '../enums.js';
import { checkPlan, type RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';

/**
 * The feature map phi, in place of the exponential of softmax: `elu1` elu(x) + 1 (Katharopoulos et al., arXiv:2006.16236),
 * `relu` max(x, 0), `exp` e^x, which is infinite above 88.7.
 */
export type FeatureMap = 'elu1' | 'relu' | 'exp';

/**
 * Which sums RoPE turns: `numerator` alone (Su et al., arXiv:2104.09864, equation 19), whose denominator stays positive
 * while weights may be negative and need not sum to 1; or `both`, whose weights sum to 1 while the denominator may come
 * near 0 or below it. An attention factor (YaRN, LongRoPE) multiplies queries and keys alike: it enters the numerator
 * squared, and with it the result; `both` divides it out again, but for cosine similarity.
 */
export type RopeForm = 'numerator' | 'both';

/** RMS norm of each head's result in place of a denominator: o / sqrt(mean(o²) + eps) * weight. */
export interface OutputNorm {
  /** Above 0. Default 1e-6. */
  eps?: number;
  /** [Dv]; default ones. */
  weight?: Float32Array;
}

/** Options that `rw.linearAttention` and `rw.linearAttentionState` have in common. */
export interface LinearForm {
  /** phi of the weights phi(q) . phi(k). Default `elu1`; not for cosine similarity. */
  featureMap?: FeatureMap;
  /**
   * `features` (the default), or `cosine`: weights 1 + q/|q| . k/|k|, which are never negative; RoPE turns the unit
   * vectors, in both sums. A vector shorter than 1e-12 is divided by that.
   */
  similarity?: 'features' | 'cosine';
  /** Divide by the sum of the weights. Default true. */
  normalize?: boolean;
  /**
   * Without `normalize`: RMS norm of each head's result, as TransNormer (Qin et al., arXiv:2210.10340) has it and gated
   * models after it (arXiv:2312.06635). Default none.
   */
  outputNorm?: OutputNorm;
}

/** @internal */
export const formFields = ['featureMap', 'similarity', 'normalize', 'outputNorm'] as const;

const { elu1, relu, exp } = LinearKernel;
const featureMaps: Readonly<Record<FeatureMap, number>> = { elu1, relu, exp };
const ropeForms: Readonly<Record<RopeForm, number>> = { numerator: 0, both: 1 };

/** A checked form. @internal */
export interface CheckedForm {
  readonly core: LinearAttentionOptions;
  readonly plan: RopePlan | undefined;
  /** The RMS norm as the core's call has it. */
  norm(scratch: Scratch): Pick<LinearAttentionCall, 'rmsNorm' | 'rmsEps' | 'rmsWeight'>;
}

function checkNorm(heap: Heap, where: string, form: LinearForm, normalize: boolean, valueDim: number) {
  if (form.outputNorm === undefined) return () => ({});
  const given = check.options(where, 'outputNorm', form.outputNorm, ['eps', 'weight']);
  if (normalize) {
    const problem = 'takes the place of the denominator; it needs normalize: false';
    throw new ArgumentRangeError(where, 'outputNorm', form.outputNorm, problem);
  }
  const rmsEps = check.positiveFloat32(where, 'outputNorm.eps', given.eps ?? 1e-6);
  const { weight: w } = given;
  const weight = w === undefined ? w : new Float32Array(check.float32(where, 'outputNorm.weight', w, valueDim));
  return (scratch: Scratch) => ({ rmsNorm: true, rmsEps, rmsWeight: weight && heap.put(scratch, weight) });
}

/** A position encoding that linear attention takes, before it is checked. @internal */
export type GivenPosition =
  | { readonly encoding: 'none' }
  | { readonly encoding: 'rope'; readonly plan: RopePlan; readonly form?: RopeForm };

/** Encodings that linear attention takes. @internal */
export const linearEncodings: Readonly<Record<GivenPosition['encoding'], number>> = { none: 0, rope: 1 };

type Rope<P> = Extract<P, { readonly encoding: 'rope' }>;

/**
 * Checks the encoding's name and that it has no fields but its own: `known`, if it is rope.
 * @internal
 */
export function checkPosition<P extends GivenPosition, const N extends readonly (keyof Rope<P>)[]>(
  where: string,
  given: P | undefined,
  known: N & check.AllOf<Rope<P>, N>,
): void {
  if (given === undefined) return;
  check.plainObject(where, 'position', given, "an object such as { encoding: 'rope', plan }");
  const hasRope = check.choice(where, 'position.encoding', given.encoding, linearEncodings) === linearEncodings.rope;
  check.keys(where, 'position', given, hasRope ? known : ['encoding']);
}

/** @internal */
export function checkForm(
  heap: Heap,
  where: string,
  form: LinearForm,
  position: GivenPosition | undefined,
  sizes: { readonly headDim: number; readonly valueDim: number },
): CheckedForm {
  const similarity = check.choice(where, 'similarity', form.similarity ?? 'features', { features: 0, cosine: 1 });
  const isCosine = similarity === 1;
  if (isCosine && form.featureMap !== undefined) {
    const problem = "is not for similarity 'cosine', which maps no features";
    throw new ArgumentRangeError(where, 'featureMap', form.featureMap, problem);
  }
  const kernel = isCosine
    ? LinearKernel.cosine
    : check.choice(where, 'featureMap', form.featureMap ?? 'elu1', featureMaps);
  const normalize = check.boolean(where, 'normalize', form.normalize ?? true);
  const norm = checkNorm(heap, where, form, normalize, sizes.valueDim);
  const rope = position?.encoding === 'rope' ? position : undefined;
  const plan = rope?.plan;
  let rotateNormalizer = true;
  if (rope !== undefined) {
    checkPlan(heap, where, 'position.plan', plan, sizes.headDim, 'q has head size');
    const wanted = rope.form ?? (isCosine ? 'both' : 'numerator');
    rotateNormalizer = check.choice(where, 'position.form', wanted, ropeForms) === ropeForms.both;
    if (isCosine && !rotateNormalizer) {
      const problem = "is 'numerator'; cosine similarity turns both sums";
      throw new ArgumentRangeError(where, 'position.form', wanted, problem);
    }
  }
  return { core: { kernel, normalize, rotateNormalizer, scale: 1 }, plan, norm };
}
