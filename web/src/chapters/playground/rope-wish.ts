// Another rotary encoding for a model: what the reader can set, and what that asks for. The ids that the
// model reads stand beside them, for all figures that read the same.
import type { RopeScaling } from 'ropewalk';
import { line, oneName, slider } from '../../figure/settings';
import type { Values } from '../../ui/state';
import type { ModelFacts, RopeWish } from './bench';
import type { Texts } from './i18n/en';
import { count, viewSettings } from './score-maps';

export const wishes = ['own', 'none', 'default', 'linear', 'ntk', 'yarn', 'llama3'] as const;
export type WishName = (typeof wishes)[number];
const ownBase = 0;
const bases = [ownBase, 10, 100, 1000, 10000, 100000, 500000, 1000000];
const factors = [2, 4, 8, 16, 32];

/** More tokens are left out: their cells would be too small. */
export const maxTokens = 48;
const maxText = 400;

/** What a look at the model, and what is written with it, are made with. */
export const lookSettings = (texts: Texts, print: (value: number) => string) => ({
  ids: line(texts.look.ids, maxText, '7 21 4 9 21 4 30 7'),
  layer: count(texts.scores.layer, 512, 1, print),
  at: count(texts.look.at, maxTokens, 8, (place) => print(place - 1)),
  wish: oneName(texts.wish, wishes, 'own', (value) => texts.wishes[value]),
  base: slider(texts.base, bases, ownBase, (value) => (value === ownBase ? texts.ownBase : print(value))),
  factor: slider(texts.factor, factors, 4, print),
  ...viewSettings(texts.scores, print),
});
export type LookValues = Values<ReturnType<typeof lookSettings>>;

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

/** Whether the method uses a factor. */
export const isScaled = (wish: WishName): boolean => ['linear', 'ntk', 'yarn', 'llama3'].includes(wish);
