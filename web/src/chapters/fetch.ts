// Fetches a chapter: its code and what it says in a language, together.
import type { Ropewalk } from 'ropewalk';
import type { ChapterId } from '../i18n/dictionary';
import { chapterTexts, type Language, numbersOf } from '../i18n/language';
import type { State } from '../ui/state';
import { longWork } from '../work/long-work';
import { chapterOf } from '.';

/** Puts a chapter into its element. Gives a function that undoes it. */
export type Mount = (root: HTMLElement, state: State, core: Ropewalk) => () => void;

/** Rejects where one of the files did not come. What came once is not fetched again. */
export async function fetchChapter<K extends ChapterId>(id: K, lang: Language): Promise<Mount> {
  const [chapter, texts] = await Promise.all([chapterOf(id), chapterTexts(lang, id)]);
  return (root, state, core) =>
    chapter.mount(
      root,
      {
        id,
        texts,
        numbers: numbersOf(lang),
        section: (name, fields) => state.section(`${id}.${name}`, fields),
        link: () => state.link({ at: id }),
        work: longWork,
      },
      core,
    );
}
