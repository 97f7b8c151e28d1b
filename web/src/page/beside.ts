// In wide windows figures stand beside the text that speaks of them (figures.css).

/** As wide as --broad: the page's letters are 1.0625 times those of the browser's setting, which are meant here. */
export const wide = matchMedia('(min-width: 78.625rem)');

/** The class of a chapter, or of the opening, that is made now. */
export const lookOf = (part: string): string => (wide.matches ? `${part} beside` : part);
