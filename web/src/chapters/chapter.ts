// What a chapter of the article is.
import type { Ropewalk } from 'ropewalk';
import type { Dictionary } from '../i18n/dictionary';
import type { Numbers } from '../i18n/language';
import type { Field, Section } from '../state';
import type { LongWork } from '../work/long-work';

/** What a chapter sees of the page. */
export interface ChapterState {
  readonly id: string;
  readonly texts: Dictionary;
  readonly numbers: Numbers;
  /** A part of the chapter's state: one figure's. */
  section<F extends Readonly<Record<string, Field<unknown>>>>(name: string, fields: F): Section<F>;
  /** The address that shows the page as it is now, opened at this chapter. */
  link(): string;
  /** For what takes longer than a frame. */
  readonly work: LongWork;
}

export interface Chapter {
  readonly id: string;
  title(texts: Dictionary): string;
  /** Puts the chapter into its element. Gives a function that undoes it. */
  mount(root: HTMLElement, state: ChapterState, core: Ropewalk): () => void;
}
