// What a chapter of the article is.
import type { Ropewalk } from 'ropewalk';
import type { ChapterId, ChapterTexts } from '../i18n/dictionary';
import type { Numbers } from '../i18n/language';
import type { Field, Section } from '../ui/state';
import type { LongWork } from '../work/long-work';

/** What a chapter sees of the page; what all chapters have in common sees only the texts that all have. */
export interface ChapterState<K extends ChapterId = never> {
  readonly id: string;
  readonly texts: ChapterTexts<K>;
  readonly numbers: Numbers;
  /** A part of the chapter's state: one figure's. */
  section<F extends Readonly<Record<string, Field<unknown>>>>(name: string, fields: F): Section<F>;
  /** The address that shows the page as it is now, opened at this chapter. */
  link(): string;
  /** For what takes longer than a frame. */
  readonly work: LongWork;
}

export interface Chapter<K extends ChapterId> {
  /** Puts the chapter into its element. Gives a function that undoes it. */
  mount(root: HTMLElement, state: ChapterState<K>, core: Ropewalk): () => void;
}
