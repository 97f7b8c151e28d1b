// What a chapter of the article is.
import type { Ropewalk } from 'ropewalk';
import type { Dictionary } from '../i18n/dictionary';
import type { Numbers } from '../i18n/language';
import type { Field, Section, State } from '../state';

/** What a chapter sees of the page. */
export interface ChapterState {
  readonly texts: Dictionary;
  readonly numbers: Numbers;
  /** The chapter's own part of the state. */
  section<F extends Readonly<Record<string, Field<unknown>>>>(fields: F): Section<F>;
  /** Calls back after every change of the state. Gives a function that ends it. */
  subscribe: State['subscribe'];
  /** The address that shows the page as it is now, opened at this chapter. */
  link(): string;
}

export interface Chapter {
  readonly id: string;
  title(texts: Dictionary): string;
  /** Puts the chapter into its element. Gives a function that undoes it. */
  mount(root: HTMLElement, state: ChapterState, core: Ropewalk): () => void;
}
