/** Resolves after so many milliseconds, and what the browser had to do meanwhile. */
export const pause = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
