// The two pairings as memory layouts: the same turn of the same numbers in other places, and what mixing them does.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { stepControl, whole } from '../../ui/controls';
import { oneOf } from '../../ui/state';
import { memoryStrips } from '../../views/memory-strip';
import { layoutHead, layouts, layoutsCode, toHalves } from './head-numbers';
import type { Texts } from './i18n/en';

const positions = whole(0, 20);
// The two layouts do the same arithmetic, number for number.
const rounding = 1e-5;

export function ropeLayout(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.layout;
  const { plain, fixed } = chapter.numbers;
  return figure(chapter, { name: 'layout', caption: texts.caption }, { at: oneOf(positions, 0) }, (section) => {
    const at = stepControl(texts.at, positions, plain, (value) => section.set({ at: value }, 'at'));
    const strips = memoryStrips();
    return {
      controls: [at.element],
      picture: [strips.element],
      show(values) {
        at.show(values.at);
        const { interleaved, half, mixed } = layouts(core, values.at);
        const print = (numbers: Float32Array): string[] => Array.from(numbers, (value) => fixed(value, 2));
        const apart = Math.max(...interleaved.after.map((value, i) => Math.abs(value - (mixed.after[i] ?? 0))));
        const equal = interleaved.after.every((v, i) => Math.abs(v - (half.after[toHalves(i)] ?? 0)) < rounding);
        const [byTwo, byHalf] = [
          whole(0, layoutHead - 1).map((i) => i >> 1),
          whole(0, layoutHead - 1).map((i) => i % (layoutHead / 2)),
        ];
        strips.update([
          {
            title: texts.interleaved,
            note: texts.interleavedNote,
            numbers: print(interleaved.after),
            pairs: byTwo,
            wrong: false,
          },
          {
            title: texts.half,
            note: equal ? texts.halfNote : '',
            numbers: print(half.after),
            pairs: byHalf,
            wrong: false,
          },
          {
            title: texts.mixed,
            note: apart < rounding ? texts.mixedSame : texts.mixedNote(fixed(apart, 2)),
            numbers: print(mixed.after),
            pairs: byHalf,
            wrong: apart >= rounding,
          },
        ]);
        const table = (caption: string, numbers: Float32Array) => ({
          caption,
          corner: '',
          columns: whole(0, layoutHead - 1).map(plain),
          rows: [{ name: texts.number, values: Array.from(numbers) }],
          print: (value: number) => fixed(value, 4),
        });
        return {
          summary: apart < rounding ? texts.sameAtZero : texts.differ(plain(values.at), fixed(apart, 2)),
          code: layoutsCode(values.at),
          table: () => [
            table(texts.interleaved, interleaved.after),
            table(texts.half, half.after),
            table(texts.mixed, mixed.after),
          ],
        };
      },
    };
  });
}
