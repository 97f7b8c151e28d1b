// The texts of a language: the shape of the English texts, with any text in place of each of them. A missing or a
// surplus entry in another language does not compile.
import type * as en from './en';

/** Texts of another language in place of English ones; some are fetched when they are needed. */
export type Translated<T> = T extends string | number
  ? T extends string
    ? string
    : number
  : T extends (...values: infer A) => string
    ? (...values: A) => string
    : T extends () => Promise<infer R>
      ? () => Promise<Translated<R>>
      : { readonly [K in keyof T]: Translated<T[K]> };

/** What often goes wrong, how it is, and what it was found in: a paper, an article, a library, or what it follows from. */
export type Pitfall = readonly [claim: string, truth: string, found: string];

/** The texts around the chapters, and in every figure. */
export type FrameTexts = Translated<typeof en>;
