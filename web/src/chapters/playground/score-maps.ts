// Scores of attention as maps: all parts of one head side by side, or one part of several heads; with their controls and
// tables. What is added up (content, position and their sum) has one scale, on which zero has a colour of its own.
import './playground.css';
import { oneName, type Setting } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import type { FrameTexts } from '../../i18n/texts';
import { type Control, stepControl, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { integer } from '../../ui/state';
import { type FieldGroup, fieldGroup } from '../../views/field-group';
import type { NumberTableData } from '../../views/number-table';
import {
  type MapName,
  mapsOf,
  mapValues,
  type PartName,
  partNames,
  type ScoreParts,
  type ViewName,
  viewNames,
} from './score-parts';

export interface ScoreTexts {
  readonly view: string;
  readonly views: Readonly<Record<ViewName, string>>;
  readonly head: string;
  readonly layer: string;
  readonly parts: Readonly<Record<PartName, string>>;
  /** The parts after the first, as they go on from the one before. */
  readonly terms: Readonly<Record<Exclude<PartName, 'content'>, string>>;
  readonly query: string;
  readonly key: string;
  readonly corner: string;
  title(head: string, part: string): string;
  tell(head: string, part: string, from: string, to: string, value: string): string;
  hidden(head: string, from: string, to: string): string;
  table(head: string, part: string): string;
}

export interface ScoreMapsData {
  /** Other numbers, or other ones of them hidden, are another object. */
  readonly scores: ScoreParts;
  readonly view: ViewName;
  readonly head: number;
  readonly heads: number;
  /** The word or id at each position. */
  readonly words: readonly string[];
  readonly isHidden: (row: number, column: number) => boolean;
}

export interface ScoreMaps {
  readonly element: HTMLElement;
  update(data: ScoreMapsData): void;
  tables(): NumberTableData[];
  destroy(): void;
}

/** Which maps are drawn. */
export const viewSettings = (texts: ScoreTexts, print: (value: number) => string) => ({
  view: oneName(texts.view, viewNames, 'apart', (value) => texts.views[value]),
  head: count(texts.head, 256, 1, print),
});

const digits = 2;

export function scoreMaps(texts: ScoreTexts, figure: FrameTexts['figure'], { plain, fixed }: Numbers): ScoreMaps {
  const group: FieldGroup = fieldGroup(figure.cells);
  let data: ScoreMapsData | undefined;
  let maps: readonly (MapName & { readonly values: Float32Array })[] = [];

  const element = h('div', { class: 'score-maps' }, group.element);
  const placed = (words: readonly string[], i: number): string => `${plain(i)} · ${words[i] ?? ''}`;
  const print = (value: number): string => fixed(value, digits);

  return {
    element,
    update(next) {
      const { scores, view, head, heads, words, isHidden } = next;
      const T = words.length;
      // The same numbers stay the same arrays, which are not drawn again.
      if (data?.scores !== scores || data.view !== view || data.head !== head) {
        maps = mapsOf(view, head, heads).map((name) => ({ ...name, values: mapValues(scores, name, T, isHidden) }));
      }
      data = next;
      const most = (isWeight: boolean): number =>
        maps
          .filter(({ part }) => (part === 'probabilities') === isWeight)
          .reduce(
            (max, { values }) => values.reduce((a, b) => (Number.isNaN(b) ? a : Math.max(a, Math.abs(b))), max),
            0,
          );
      const limitOf = (part: PartName): number =>
        Math.max(0.1, Math.ceil(most(part === 'probabilities') * 10 - 1e-6) / 10);
      element.classList.toggle('many', maps.length > partNames.length);
      group.update({
        fields: maps.map(({ part, head: number, values }) => {
          const label = texts.title(plain(number + 1), texts.parts[part]);
          // All parts of a head are to be read as the sum that they are.
          const title = view === 'apart' && part !== 'content' ? texts.terms[part] : label;
          return {
            ...{ title, label, legend: texts.parts[part], rows: T, columns: T, values, print },
            ...{ largestCell: 64, tallest: 30 * T },
            scale: part === 'probabilities' ? ('sequential' as const) : ('diverging' as const),
            limit: limitOf(part),
            ...{ rowTitle: texts.query, columnTitle: texts.key },
            rowName: (row) => placed(words, row),
            columnName: plain,
          };
        }),
        tell({ row, column }, field) {
          const map = maps[field];
          const value = map?.values[row * T + column] ?? Number.NaN;
          const [number, from, to] = [plain((map?.head ?? 0) + 1), placed(words, row), placed(words, column)];
          return Number.isNaN(value)
            ? texts.hidden(number, from, to)
            : texts.tell(number, texts.parts[map?.part ?? 'biased'], from, to, fixed(value, 3));
        },
        print,
      });
    },
    tables() {
      const { words = [] } = data ?? {};
      const T = words.length;
      return maps.map(({ part, head, values }) => ({
        caption: texts.table(plain(head + 1), texts.parts[part]),
        corner: texts.corner,
        columns: words.map((_, i) => placed(words, i)),
        rows: words.map((_, row) => ({
          name: placed(words, row),
          values: Array.from(values.subarray(row * T, (row + 1) * T), (value) =>
            Number.isNaN(value) ? undefined : value,
          ),
        })),
        print: (value: number) => fixed(value, 4),
      }));
    },
    destroy: group.destroy,
  };
}

/** Lines of a program that give the numbers of the tables from its `scores`. */
export function resultCode(view: ViewName, head: number, heads: number): string {
  const maps = mapsOf(view, head, heads).map(({ part, head: h }) => `  ...scoreMap(scores.${part}.data, ${h}, T),`);
  return `const result = [\n${maps.join('\n')}\n];`;
}

export interface CountControl extends Control<number> {
  /** @param count the largest number that there is now; default: the one that was. */
  show(value: number, count?: number): void;
}

function countControl(label: string, print: (value: number) => string, changed: (value: number) => void): CountControl {
  const element = h('div', { class: 'count' });
  let made: Control<number> | undefined;
  let madeFor = 0;
  return {
    element,
    show(value, count = madeFor) {
      if (count !== madeFor) {
        made = stepControl(label, whole(1, Math.max(2, count)), print, (next) => changed(Math.min(next, count)));
        madeFor = count;
        element.replaceChildren(made.element);
      }
      element.hidden = count < 2;
      made?.show(Math.min(value, count));
    },
  };
}

/** From 1 to a number that may become another one. */
export function count(
  label: string,
  most: number,
  initial: number,
  print: (value: number) => string,
): Setting<number, CountControl> {
  return {
    ...integer(1, most, initial),
    isGradual: true,
    control: (changed) => countControl(label, print, changed),
  };
}

/** Fewer heads than are drawn at once need no choice among them. */
export function showHead(
  control: CountControl,
  { view, head }: { readonly view: ViewName; readonly head: number },
  heads: number,
): void {
  control.show(head, heads);
  if (view !== 'apart' && heads <= 8) control.element.hidden = true;
}
