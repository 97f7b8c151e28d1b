// Where a model comes from.

/** Where the model comes from; the trained one is the page's own. */
export type Source =
  | { readonly kind: 'decoder' | 'encoder'; readonly seed: number }
  | { readonly kind: 'files' | 'trained' };

/** Lines of a program that make `config` and `weights`, and the functions that they use. */
export interface Origin {
  readonly shown: Readonly<Record<string, string>>;
  readonly lines: string;
}

/** Whether two sources are of the same model that needs no files. */
export function isSame(a: Source | undefined, b: Source): boolean {
  return a?.kind === b.kind && b.kind !== 'files' && (!('seed' in a) || !('seed' in b) || a.seed === b.seed);
}
