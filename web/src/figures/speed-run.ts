// How fast this device is: the package and plain JavaScript at the same work, in the background.
import type { ChapterState } from '../chapters/chapter';
import { type Figure, figure } from '../figure';
import { type Speed, speedCode } from '../pictures/speed';
import { bars } from '../views/bars';
import { workControl } from '../views/work-control';

const rounds = 15;

// Also for the figure of another language.
let measured: readonly Speed[] = [];

export function speedRun(chapter: ChapterState<'speed'>): Figure {
  const texts = chapter.texts.speed.run;
  const { plain, significant } = chapter.numbers;
  return figure(chapter, { name: 'run', caption: texts.caption }, {}, () => {
    const shown = bars();
    let showAgain: () => void = () => undefined;
    const work = workControl(chapter.texts.figure, plain, async (signal, progress) => {
      measured = await chapter.work.run('measureSpeed', { rounds }, { signal, progress });
      showAgain();
    });
    const data = () => ({
      caption: texts.table,
      corner: texts.work,
      columns: [texts.core, texts.script, texts.ratio],
      rows: measured.map(({ work, core, script }) => ({
        name: texts.works[work],
        values: [core, script, script / core],
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
        const reading = (time: number): string => texts.time(significant(time, 3));
        shown.update(
          measured.map(({ work, core, script }) => ({
            title: texts.works[work],
            bars: [
              { name: texts.core, value: core, look: 'query', reading: reading(core) },
              { name: texts.script, value: script, look: 'key', reading: reading(script) },
            ],
          })),
        );
        const [first] = measured;
        return {
          summary: first ? texts.summary(significant(first.script / first.core, 2)) : texts.notYet,
          code: speedCode(),
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
