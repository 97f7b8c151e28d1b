// The two pairings as memory layouts: the same turn of the same numbers in other places, and what mixing them does.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider } from '../../figure/settings';
import { call, partsOf, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { memoryStrips } from '../../views/memory-strip';
import type { Texts } from './i18n/en';
import { layoutHead, layouts, toHalves } from './programs';
import { shown } from './programs.js?shown';

const positions = whole(0, 20);
// The two layouts do the same arithmetic, number for number.
const rounding = 1e-5;

export function ropeLayout(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.layout;
  const { plain, fixed } = chapter.numbers;
  const fields = { at: slider(texts.at, positions, 0, plain) };
  return figure(chapter, { name: 'layout', caption: texts.caption }, fields, (_, { at }) => {
    const strips = memoryStrips();
    return {
      controls: [at.element],
      picture: [strips.element],
      show(values) {
        const { interleaved, half, mixed } = layouts(core, values.at);
        const print = (numbers: Float32Array): string[] => Array.from(numbers, (value) => fixed(value, 2));
        const apart = Math.max(...interleaved.map((value, i) => Math.abs(value - (mixed[i] ?? 0))));
        const equal = interleaved.every((v, i) => Math.abs(v - (half[toHalves(i)] ?? 0)) < rounding);
        const [byTwo, byHalf] = [
          whole(0, layoutHead - 1).map((i) => i >> 1),
          whole(0, layoutHead - 1).map((i) => i % (layoutHead / 2)),
        ];
        strips.update([
          {
            title: texts.interleaved,
            note: texts.interleavedNote,
            numbers: print(interleaved),
            pairs: byTwo,
            wrong: false,
          },
          {
            title: texts.half,
            note: equal ? texts.halfNote : '',
            numbers: print(half),
            pairs: byHalf,
            wrong: false,
          },
          {
            title: texts.mixed,
            note: apart < rounding ? texts.mixedSame : texts.mixedNote(fixed(apart, 2)),
            numbers: print(mixed),
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
          code: program(shown, partsOf(call('layouts', values.at), 'interleaved', 'half', 'mixed')),
          table: () => [table(texts.interleaved, interleaved), table(texts.half, half), table(texts.mixed, mixed)],
        };
      },
    };
  });
}
