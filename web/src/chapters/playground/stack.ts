// The stack of the playground: its options, and the program that computes the same as the worker. Knows nothing of the
// DOM.
import type { NdArray, RopeScaling, Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { shown as ofWords } from '../../programs/word-vector.js?shown';
import { shown as ofMaps } from './score-map.js?shown';
import type { ScoreParts } from './score-parts';
import { shown as ofStack } from './stack-scores.js?shown';

export const stackEncodings = [
  ...(['none', 'sinusoidal', 'half', 'interleaved', 'alibi', 't5', 'kerple', 'shaw'] as const),
  ...(['relativeKey', 'relativeKeyQuery', 'm3'] as const),
] as const;
export type StackEncoding = (typeof stackEncodings)[number];

/** Whether the encoding uses frequencies. */
export const isRotary = (encoding: StackEncoding): boolean => encoding === 'half' || encoding === 'interleaved';

export interface StackOptions {
  readonly encoding: StackEncoding;
  readonly heads: number;
  readonly kvHeads: number;
  readonly layers: number;
  readonly causal: boolean;
  /** Positions visible to a word on either side, its own included; 0: all. */
  readonly window: number;
  /** First words that a window keeps visible. */
  readonly sinkTokens: number;
  readonly seed: number;
  /** Of the rotary encodings. */
  readonly rope: { readonly base: number; readonly scaling: RopeScaling };
}

type Stages = { readonly [N in keyof ScoreParts]: NdArray };

/** [1, H, T, T] of the last layer. */
export type StackScores = (rw: Ropewalk, words: readonly string[], options: StackOptions) => Stages;

/** @param result an expression of `scores` that gives the numbers of the picture. */
export function stackCode(words: readonly string[], options: StackOptions, result: string): string {
  const { rope, ...rest } = options;
  const given = isRotary(options.encoding) ? options : rest;
  const lines = Object.entries(given).map(([name, value]) => `  ${name}: ${literal(value)},`);
  return program(
    { ...ofWords, ...ofStack, ...ofMaps },
    `const words = ${literal(words)};
const scores = stackScores(rw, words, {
${lines.join('\n')}
});
${result}`,
  );
}
