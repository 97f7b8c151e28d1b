// The stages of attention's scores, by name.

/** In the order in which attention computes them. */
export const scoreStages = ['content', 'position', 'raw', 'capped', 'biased', 'probabilities'] as const;

/**
 * A stage of the scores: `raw` scaled, with the relative terms, before any bias or mask; `capped` after the softcap;
 * `biased` with biases and masks, hidden keys at -Infinity; `probabilities` after the softmax. Two more are parts of `raw`
 * with the encoding's bias: `content` is scale q . k without the position encoding, `position` is the rest.
 *
 * If a score of a row is Infinity or NaN, or the scores of all its visible keys are -Infinity, the row of `out` is NaN, and
 * so is each of its probabilities that is not 0.
 * @useDeclaredType
 */
export type ScoreStage = (typeof scoreStages)[number];

/**
 * Something for each stage.
 * @internal
 */
export function forStages<T>(make: (stage: ScoreStage) => T): Readonly<Record<ScoreStage, T>> {
  return Object.fromEntries(scoreStages.map((stage) => [stage, make(stage)])) as Record<ScoreStage, T>;
}
