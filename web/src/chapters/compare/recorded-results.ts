// What the lab's models could do in the end, by encoding: from the curves that were recorded, those of the lab's figures and others. Does not use the DOM.

import others from '../../recorded/compared.json';
import { lengths } from '../../recorded/course';
import recorded from '../../recorded/lab.json';

/** Encodings in the order in which the page comes to them. */
export const compared = [
  'none',
  'binary',
  'sinusoidal',
  'learned',
  'axial',
  'shaw',
  'm3',
  'm4',
  'xl',
  'deberta',
  't5',
  'alibi',
  'kerple',
  'fire',
  'sandwich',
  'cope',
  'rope',
  'mixed',
  'pope',
] as const;

export type Compared = (typeof compared)[number];

export const measures = ['previous', 'reverse', 'induction', 'length'] as const;
export type Measure = (typeof measures)[number];

const texts: Readonly<Record<Measure, Readonly<Record<string, string>>>> = {
  previous: { ...sharesOf(recorded.order.previous), ...others.previous },
  reverse: { ...sharesOf(recorded.order.reverse), ...others.reverse },
  induction: { ...sharesOf(recorded.induction[2]), ...others.repeats },
  length: {
    ...Object.fromEntries(Object.entries(recorded.length).map(([name, { asTrained }]) => [name, asTrained])),
    ...others.beyond,
  },
};

function sharesOf(task: Readonly<Record<string, { readonly share: string }>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(task).map(([name, { share }]) => [name, share]));
}

/** Shares of what is named right, by training step; with `length` the losses in nats, by position. */
export function curveOf(measure: Measure, encoding: Compared): readonly number[] {
  return (texts[measure][encoding] ?? '').split(' ').map((hundredths) => Number(hundredths) / 100);
}

/** Where the trained length ends on the curve of losses by position, as a share of it. */
export const trainedShare = lengths.trained / lengths.tested;

/** The share in the end; with `length` the mean loss at positions beyond the trained length. */
export function resultOf(measure: Measure, encoding: Compared): number {
  const curve = curveOf(measure, encoding);
  if (measure !== 'length') return curve.at(-1) ?? 0;
  const beyond = curve.slice(lengths.trained / lengths.bin);
  return beyond.reduce((sum, loss) => sum + loss, 0) / beyond.length;
}
