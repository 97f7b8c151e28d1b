// How fast this device is: the package and plain JavaScript at the same work, in the background.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { call, program } from '../../programs/program';
import { bars } from '../../views/bars';
import { workControl } from '../../views/work-control';
import type { Texts } from './i18n/en';
import { type measureSpeed, type Speed, type Way, wayNames } from './numbers';
import { shown as ofSpeed } from './programs.js?shown';

const rounds = 15;
const looks: Record<Way, 'query' | 'key' | 'third'> = { core: 'query', script: 'key', copy: 'third' };

// Also for the figure of another language.
let measured: readonly Speed[] = [];

export function speedRun(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.run;
  const { plain, significant } = chapter.numbers;
  return figure(chapter, { name: 'run', caption: texts.caption }, {}, () => {
    const shown = bars();
    let showAgain: () => void = () => undefined;
    const work = workControl(chapter.frame.figure, plain, async (signal, progress) => {
      measured = await chapter.work.run<typeof measureSpeed>('measureSpeed', { rounds }, { signal, progress });
      showAgain();
    });
    const data = () => ({
      caption: texts.table,
      corner: texts.work,
      columns: [...wayNames.map((way) => texts.ways[way]), texts.ratio],
      rows: measured.map((speed) => ({
        name: texts.works[speed.work],
        values: [...wayNames.map((way) => speed[way]), speed.script / speed.core],
      })),
      print: (value: number) => significant(value, 3),
    });
    return {
      controls: [work.element],
      picture: [shown.element],
      again(show) {
        showAgain = show;
      },
      show() {
        shown.element.hidden = measured.length === 0;
        shown.update(
          measured.map((speed) => ({
            title: texts.works[speed.work],
            bars: wayNames.map((way) => ({
              name: texts.ways[way],
              value: speed[way],
              look: looks[way],
              reading: texts.time(significant(speed[way], 3)),
            })),
          })),
        );
        const [first] = measured;
        return {
          summary: first
            ? texts.summary(significant(first.script / first.core, 2), significant(first.core / first.copy, 2))
            : texts.notYet,
          isEmpty: measured.length === 0,
          code: program(
            ofSpeed,
            `const { core, script, copy } = ${call('rotations')};
const result = [core, script, copy].map(time);   // ms for 2048 tokens`,
          ),
          table: () => [data()],
        };
      },
      reset() {
        work.cancel();
        measured = [];
        showAgain();
      },
      end: work.cancel,
    };
  });
}
