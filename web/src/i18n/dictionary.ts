// What a language has to say: the shape of the English dictionary, with any text in place of each of its texts. A
// missing or a surplus entry in another language does not compile.
import type { en } from './en';

type Texts<T> = T extends string
  ? string
  : T extends (...values: infer A) => string
    ? (...values: A) => string
    : { readonly [K in keyof T]: Texts<T[K]> };

export type Dictionary = Texts<typeof en>;
