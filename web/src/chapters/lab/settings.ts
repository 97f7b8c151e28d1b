// What the figures of the lab have in common: their seeds, their pace, the curves that were recorded beforehand.
import type { ChapterState } from '../../figure/chapter';
import { more } from '../../figure/more';
import { type Setting, slider, together } from '../../figure/settings';
import { type StepControl, whole } from '../../ui/controls';
import type { Texts } from './i18n/en';

/** Of all random numbers of a run. */
export const seeds = whole(1, 30);

// Steps in a second; the last is as many as there can be.
const paces = [10, 25, 50, 100, 1000];
const fullPace = 1000;

/** How fast it goes, for a slider. */
export function paceOf({ texts, numbers }: ChapterState<Texts>): Setting<number, StepControl> {
  const print = (value: number): string => (value === fullPace ? texts.fullPace : numbers.plain(value));
  return slider(texts.pace, paces, fullPace, print);
}

/** What few will set. */
export const finer = ({ frame }: ChapterState<Texts>, ...controls: readonly { readonly element: Element }[]): Element =>
  more(frame, together(...controls));

/** The least time between two looks, in milliseconds. */
export const intervalOf = (pace: number, every: number): number => (pace === fullPace ? 0 : (1000 * every) / pace);

/** A recorded curve: values in hundredths, evenly over so many steps. */
export function recordedPoints(text: string, steps: number): (readonly [number, number])[] {
  const values = text.split(' ');
  return values.map((value, i) => [(i * steps) / (values.length - 1), Number(value) / 100]);
}
