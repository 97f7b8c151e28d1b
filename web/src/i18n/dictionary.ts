// What a language has to say: the shape of the English texts, with any text in place of each of them. A missing or a
// surplus entry in another language does not compile.
import type { en } from './en';

type Translated<T> = T extends string
  ? string
  : T extends (...values: infer A) => string
    ? (...values: A) => string
    : { readonly [K in keyof T]: Translated<T[K]> };

/** All texts, by part of the page. */
export type Dictionary = { readonly [K in keyof typeof en]: Translated<Awaited<ReturnType<(typeof en)[K]>>> };

/** Parts that are chapters. */
export type ChapterId = Exclude<keyof Dictionary, 'frame'>;

/** What stands around the chapters, and in every figure. */
export type FrameTexts = Dictionary['frame'];

/** What a chapter can say: its own texts and those that all figures share. */
export type ChapterTexts<K extends ChapterId> = FrameTexts & Pick<Dictionary, K>;

/** A language: each part is fetched only when it is wanted. */
export type Texts = { readonly [K in keyof Dictionary]: () => Promise<Dictionary[K]> };
