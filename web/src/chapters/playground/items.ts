// Ids as a reader writes them.

/** The texts between spaces or commas. */
export const itemsOf = (written: string): string[] => written.split(/[\s,，]+/).filter((item) => item !== '');

/** The first item that is no id. */
export const noId = (written: string): string => itemsOf(written).find((item) => !/^\d+$/.test(item)) ?? '';
