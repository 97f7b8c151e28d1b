// How fast this device is: the package and plain JavaScript at the same work, in the background.
import type { ChapterState } from '../chapters/chapter';
import { h } from '../dom';
import { type Figure, figure } from '../figure';
import { type Speed, speedCode } from '../pictures/speed';
import { numberTable } from '../views/number-table';
import { workControl } from '../views/work-control';

const rounds = 15;

export function speedRun(chapter: ChapterState<'speed'>): Figure {
  const texts = chapter.texts.speed.run;
  const { plain, significant } = chapter.numbers;
  return figure(chapter, { name: 'run', caption: texts.caption }, {}, () => {
    const shown = numberTable();
    let measured: readonly Speed[] = [];
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
      picture: [h('div', { class: 'measured' }, shown.element)],
      again(show) {
        showAgain = show;
      },
      show() {
        shown.element.hidden = measured.length === 0;
        shown.update(data());
        const [first] = measured;
        return {
          summary: first ? texts.summary(significant(first.script / first.core, 2)) : texts.notYet,
          code: speedCode(),
          table: () => [data()],
        };
      },
      end: work.cancel,
    };
  });
}
