// What a chapter of the article is.
import type { Ropewalk } from 'ropewalk';
import type { Language, Numbers } from '../i18n/language';
import type { ScorecardTexts } from '../i18n/scorecard-en';
import type { FrameTexts } from '../i18n/texts';
import type { Field, Section } from '../ui/state';
import type { Coming } from '../work/coming';
import type { LongWork } from '../work/long-work';

/** The part of the page that a chapter uses; code that all chapters share has no chapter's own texts. */
export interface ChapterState<Texts = unknown> {
  readonly id: string;
  readonly texts: Texts;
  /** The texts of all chapters. */
  readonly frame: FrameTexts;
  /** Those of the scorecard, which the first chapter has none of. */
  readonly scorecard: ScorecardTexts | undefined;
  readonly numbers: Numbers;
  /** A part of the chapter's state: one figure's. */
  section<F extends Readonly<Record<string, Field<unknown>>>>(name: string, fields: F): Section<F>;
  /** The address that shows the page as it is now, opened at a figure of this chapter. */
  link(figure: string): string;
  /** For what takes longer than a frame. */
  readonly work: LongWork;
}

export interface Chapter<Texts> {
  /** Puts the chapter into its element. Gives a function that undoes it. */
  mount(root: HTMLElement, state: ChapterState<Texts>, core: Ropewalk): () => void;
}

/** A chapter that is shown before the core has come. */
export interface EarlyChapter<Texts> {
  mountEarly(root: HTMLElement, state: ChapterState<Texts>, core: Coming<Ropewalk>): () => void;
}

/** A chapter's title, at once, and how the rest of it is fetched. */
export interface ChapterSource<Texts> {
  readonly title: Readonly<Record<Language, string>>;
  readonly code: () => Promise<{ readonly chapter: Chapter<Texts> | EarlyChapter<Texts> }>;
  readonly texts: Readonly<Record<Language, () => Promise<{ readonly texts: Texts }>>>;
}
