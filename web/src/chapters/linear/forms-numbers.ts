// Weights and denominators of linear attention with RoPE in each of its places. Know nothing of the DOM.
import type { DenominatorReport, FeatureMap, LinearAttentionOptions, RopePlan, Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';
import { randomRows, randomRowsCode, unitRows, unitRowsCode, wordVectorSource } from './inputs';

export const formNames = ['none', 'numerator', 'both', 'cosine'] as const;
export type Form = (typeof formNames)[number];
export const mapNames = ['elu1', 'relu', 'exp'] as const satisfies readonly FeatureMap[];
export const formTokens = 24;

export interface FormInput {
  readonly form: Form;
  readonly map: FeatureMap;
  readonly dim: number;
  readonly seed: number;
}

export interface FormNumbers {
  /** [24, 24]; a query's own row. */
  readonly weights: Float32Array;
  readonly denominators: Float32Array;
  readonly report: DenominatorReport;
}

/** What a form is in the package's terms. */
export function formOptions(form: Form, featureMap: FeatureMap, plan: RopePlan): LinearAttentionOptions {
  if (form === 'none') return { featureMap };
  if (form === 'cosine') return { similarity: 'cosine', position: { encoding: 'rope', plan } };
  return { featureMap, position: { encoding: 'rope', plan, form } };
}

export function formNumbers(core: Ropewalk, { form, map, dim, seed }: FormInput): FormNumbers {
  const plan = core.rope({ headDim: dim, pairing: 'interleaved' });
  try {
    const [q, k] = [randomRows(`query ${seed}`, formTokens, dim), randomRows(`key ${seed}`, formTokens, dim)];
    const options = { ...formOptions(form, map, plan), causal: true, returnDenominators: true };
    const { out, denominators, denominator } = core.linearAttention(q, k, unitRows(formTokens), options);
    if (denominators === undefined || denominator === undefined) throw new Error('no denominators');
    return { weights: out.data, denominators: denominators.data, report: denominator };
  } finally {
    plan.dispose();
  }
}

const optionsCode = (form: Form, map: FeatureMap): string => {
  if (form === 'none') return `  featureMap: ${literal(map)},`;
  if (form === 'cosine') return `  similarity: 'cosine',\n  position: { encoding: 'rope', plan },`;
  return `  featureMap: ${literal(map)},\n  position: { encoding: 'rope', plan, form: ${literal(form)} },`;
};

export function formsCode({ form, map, dim, seed }: FormInput): string {
  const plan = form === 'none' ? '' : "\nconst plan = rw.rope({ headDim: D, pairing: 'interleaved' });";
  return `import { load } from 'ropewalk';

${wordVectorSource}
${randomRowsCode}
${unitRowsCode}

const rw = await load({ simd: 'deterministic' });
const [T, D] = [${formTokens}, ${dim}];${plan}
const q = rows('query ${seed}', T, D);
const k = rows('key ${seed}', T, D);
const { out, denominators, denominator } = rw.linearAttention(q, k, unitRows(T), {
  causal: true,
  returnDenominators: true,
${optionsCode(form, map)}
});
// denominator: how many are negative or 0, and the least distance from 0
const result = [...out.data, ...denominators.data];
`;
}
