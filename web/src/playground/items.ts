// Ids as a reader writes them.

/** What stands between spaces or commas. */
export const itemsOf = (written: string): string[] => written.split(/[\s,，]+/).filter((item) => item !== '');
