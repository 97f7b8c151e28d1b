// Fetches a chapter: its code and its texts in a language, together.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../figure/chapter';
import { frameTexts, type Language, numbersOf, scorecardTexts } from '../i18n/language';
import type { State } from '../ui/state';
import type { Coming } from '../work/coming';
import { longWork } from '../work/long-work';
import { chapterIds } from './ids.js';
import { type ChapterId, chapterOf } from './registry';

/** Puts a chapter into its element; only an early one before the core has come. Gives a function that undoes it. */
export type Mount = (root: HTMLElement, state: State, core: Coming<Ropewalk>) => () => void;

/** Rejects where one of the files did not come. What came once is not fetched again. */
export async function fetchChapter(id: ChapterId, lang: Language): Promise<Mount> {
  const source = chapterOf(id);
  const isFirst = id === chapterIds[0];
  const [{ chapter }, { texts }, frame, scorecard] = await Promise.all([
    source.code(),
    source.texts[lang](),
    frameTexts(lang),
    isFirst ? undefined : scorecardTexts(lang),
    isFirst ? undefined : import('../views/later'),
  ]);
  return (root, state, core) => {
    const own = {
      id,
      texts,
      frame,
      scorecard,
      numbers: numbersOf(lang),
      section: (name, fields) => state.section(`${id}.${name}`, fields),
      link: (figure) => state.link({ at: `${id}.${figure}` }),
      work: longWork,
    } satisfies ChapterState;
    if ('mountEarly' in chapter) return chapter.mountEarly(root, own, core);
    if (core.now === undefined) throw new Error(`no core for ${id}`);
    return chapter.mount(root, own, core.now);
  };
}
