// What several threads gain on this device, in the background.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { program } from '../../programs/program';
import { bars } from '../../views/bars';
import { workControl } from '../../views/work-control';
import type { Texts } from './i18n/en';
import { shown as ofSpeed } from './programs.js?shown';
import { lengths, type measureThreads, type ThreadsSpeed } from './threads';

const rounds = 15;
const looks = ['query', 'key', 'third'] as const;

// Also for the figure of another language.
let measured: ThreadsSpeed | undefined;

export function speedThreads(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.threads;
  const { plain, significant } = chapter.numbers;
  return figure(chapter, { name: 'threads', caption: texts.caption }, {}, () => {
    const shown = bars();
    let showAgain: () => void = () => undefined;
    const work = workControl(chapter.frame.figure, plain, async (signal, progress) => {
      measured = await chapter.work.run<typeof measureThreads>('measureThreads', { rounds }, { signal, progress });
      showAgain();
    });
    const rows = () => measured?.times ?? [];
    const nameOf = (i: number): string => texts.works(plain(lengths[i] ?? 0));
    const summary = (): string => {
      if (measured === undefined) return texts.notYet;
      if (measured.why !== undefined) return texts.forbidden(measured.why);
      const [[one = 0, two = 0] = []] = measured.times;
      return texts.summary(significant(one / two, 2), measured.isEqual);
    };
    return {
      controls: [work.element],
      picture: [shown.element],
      again(show) {
        showAgain = show;
      },
      show() {
        const threads = measured?.threads ?? [];
        const isEmpty = rows().length === 0;
        shown.element.hidden = isEmpty;
        shown.update(
          rows().map((times, i) => ({
            title: nameOf(i),
            bars: times.map((value, j) => ({
              name: texts.count(plain(threads[j] ?? 0), threads[j] === 1),
              value,
              look: looks[j % looks.length] ?? 'query',
              reading: texts.time(significant(value, 3)),
            })),
          })),
        );
        return {
          summary: summary(),
          isEmpty,
          code: program(
            ofSpeed,
            `const result = ${JSON.stringify(lengths)}.map((tokens) => time(layerPass(rw, tokens).run));   // ms
rw.dispose();`,
            "import { load } from 'ropewalk/threads';",
            'load({ threads: 2 })',
          ),
          table: () => [
            {
              caption: texts.table,
              corner: texts.work,
              columns: threads.map((count) => texts.count(plain(count), count === 1)),
              rows: rows().map((values, i) => ({ name: nameOf(i), values })),
              print: (value: number) => significant(value, 3),
            },
          ],
        };
      },
      reset() {
        work.cancel();
        measured = undefined;
        showAgain();
      },
      end: work.cancel,
    };
  });
}
