// The addresses of the workers' scripts; the plugin `workers` of vite.config.ts makes them.
declare module 'virtual:worker' {
  export const address: string;
  export const playground: string;
}
// What the page draws before the core has come; the plugin of web/first-view.ts computes it.
declare module 'virtual:first-view' {
  /** By how many radians each pair of the needles is turned from place to place. */
  export const frequencies: readonly number[];
}
// The files of the page's own face; the plugin of web/typeface.ts makes them.
declare module 'virtual:typeface' {
  export const files: readonly { readonly address: string; readonly weight: string; readonly style: string }[];
}
// The text of what a file exports, by its name; the plugin `programs` of vite.config.ts makes it.
declare module '*.js?shown' {
  export const shown: Readonly<Record<string, string>>;
}
// Of the options those that web/typeface.ts has.
declare module 'subset-font' {
  function subsetFont(
    font: Uint8Array,
    text: string,
    options: { readonly targetFormat: 'woff2'; readonly noLayoutClosure: boolean },
  ): Promise<Uint8Array>;
  export = subsetFont;
}
