// The position encodings that are methods of an instance, as data: menus, links and tests loop over this list. It mirrors
// the core's registry (src/encodings/registry.h), and a test holds the two together.

/**
 * How an encoding enters a model. `absolute`: a vector for each position, merged with the token's. `rotary`: queries and
 * keys are rotated. `bias`: a number for each distance, or distance and query, added to the scores. `relative`: a vector
 * for each distance.
 */
export type EncodingFamily = 'absolute' | 'rotary' | 'bias' | 'relative';

/** One entry of `encodings`. */
export interface EncodingInfo {
  /** How it enters a model. */
  readonly family: EncodingFamily;
  /** The function of an instance that computes the encoding's own table, bias or plan. */
  readonly call:
    | 'binary'
    | 'sinusoidal'
    | 'learned'
    | 'rope'
    | 'alibiBias'
    | 't5Bias'
    | 'kerpleBias'
    | 'fireBias'
    | 'sandwichBias'
    | 'relativeRows';
  /** Whether `rw.attention` takes it as `position`. */
  readonly attention: boolean;
  /** Where it was published. */
  readonly source: string;
}

const all = {
  binary: { family: 'absolute', call: 'binary', attention: false, source: 'folklore' },
  sinusoidal: { family: 'absolute', call: 'sinusoidal', attention: false, source: 'arXiv:1706.03762' },
  learned: { family: 'absolute', call: 'learned', attention: false, source: 'arXiv:1705.03122' },
  rope: { family: 'rotary', call: 'rope', attention: true, source: 'arXiv:2104.09864' },
  alibi: { family: 'bias', call: 'alibiBias', attention: true, source: 'arXiv:2108.12409' },
  t5: { family: 'bias', call: 't5Bias', attention: true, source: 'arXiv:1910.10683' },
  shaw: { family: 'relative', call: 'relativeRows', attention: true, source: 'arXiv:1803.02155' },
  relative_key: { family: 'relative', call: 'relativeRows', attention: true, source: 'arXiv:1803.02155' },
  relative_key_query: { family: 'relative', call: 'relativeRows', attention: true, source: 'arXiv:2009.13658' },
  m3: { family: 'relative', call: 'relativeRows', attention: true, source: 'arXiv:2009.13658' },
  kerple: { family: 'bias', call: 'kerpleBias', attention: true, source: 'arXiv:2205.09921' },
  fire: { family: 'bias', call: 'fireBias', attention: true, source: 'arXiv:2310.04418' },
  sandwich: { family: 'bias', call: 'sandwichBias', attention: true, source: 'arXiv:2212.10356' },
} as const satisfies Record<string, EncodingInfo>;

/**
 * The name of an encoding.
 * @useDeclaredType
 */
export type EncodingName = keyof typeof all;

/**
 * The 13 encodings that are methods of an instance, by name. CoPE, Transformer-XL, DeBERTa, RoPE-Mixed and axial positions are
 * functions of their own.
 *
 * @example
 * import { encodings } from 'ropewalk';
 * const { family, attention, source } = encodings.alibi;   // 'bias', true, 'arXiv:2108.12409'
 */
export const encodings: Readonly<Record<EncodingName, EncodingInfo>> = all;
