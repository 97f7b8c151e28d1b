// Another rotary encoding for a model: the fields of the state, their controls, and what they ask for. The ids that the
// model reads stand beside them, for all figures that read the same.
import type { RopeScaling } from 'ropewalk';
import { choiceControl, stepControl } from '../../ui/controls';
import { h } from '../../ui/dom';
import type { Section, Values } from '../../ui/state';
import { choice, integer, oneOf, text } from '../../ui/state';
import type { ModelFacts, RopeWish } from './bench';
import { viewFields } from './score-maps';

export const wishes = ['own', 'none', 'default', 'linear', 'ntk', 'yarn', 'llama3'] as const;
export type WishName = (typeof wishes)[number];
const ownBase = 0;
const bases = [ownBase, 10, 100, 1000, 10000, 100000, 500000, 1000000];
const factors = [2, 4, 8, 16, 32];

/** More tokens are left out: their cells would be too small. */
export const maxTokens = 48;
const maxText = 400;

export const lookFields = {
  ids: text(maxText, '7 21 4 9 21 4 30 7'),
  layer: integer(1, 512, 1),
  at: integer(1, maxTokens, 8),
  wish: choice(wishes, 'own'),
  base: oneOf(bases, ownBase),
  factor: oneOf(factors, 4),
  ...viewFields,
};
export type LookValues = Values<typeof lookFields>;
export const maxIdsText = maxText;

/** undefined: the model as it is. */
export function wishOf({ wish, base, factor }: LookValues, facts: ModelFacts): RopeWish {
  if (facts.position !== 'rope') return undefined;
  if (wish === 'none') return 'none';
  const originalLength = facts.maxLength ?? 2048;
  const scalings: Readonly<Record<Exclude<WishName, 'none'>, RopeScaling | undefined>> = {
    own: undefined,
    default: { type: 'default' },
    linear: { type: 'linear', factor },
    ntk: { type: 'ntk', factor },
    yarn: { type: 'yarn', factor, originalLength },
    llama3: { type: 'llama3', factor, originalLength },
  };
  const scaling = scalings[wish];
  if (base === ownBase && scaling === undefined) return undefined;
  return { ...(base !== ownBase && { base }), ...(scaling && { scaling }) };
}

export interface WishTexts {
  readonly wish: string;
  readonly wishes: Readonly<Record<WishName, string>>;
  readonly base: string;
  readonly ownBase: string;
  readonly factor: string;
}

export function wishControls(
  texts: WishTexts,
  print: (value: number) => string,
  section: Section<typeof lookFields>,
): { readonly element: HTMLElement; show(values: LookValues, isRotary: boolean): void } {
  const wish = choiceControl(
    texts.wish,
    wishes.map((value) => ({ value, label: texts.wishes[value] })),
    (value) => section.set({ wish: value }),
  );
  const baseName = (value: number): string => (value === ownBase ? texts.ownBase : print(value));
  const base = stepControl(texts.base, bases, baseName, (value) => section.set({ base: value }, 'base'));
  const factor = stepControl(texts.factor, factors, print, (value) => section.set({ factor: value }, 'factor'));
  const element = h('div', { class: 'settings' }, wish.element, base.element, factor.element);
  return {
    element,
    show(values, isRotary) {
      wish.show(values.wish);
      base.show(values.base);
      factor.show(values.factor);
      element.hidden = !isRotary;
      base.element.hidden = values.wish === 'none';
      factor.element.hidden = !['linear', 'ntk', 'yarn', 'llama3'].includes(values.wish);
    },
  };
}
