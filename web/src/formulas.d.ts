// A formula in TeX, imported as MathML; the formulas plugin of vite.config.ts makes it.
declare module '*.tex' {
  export const mathml: string;
}
