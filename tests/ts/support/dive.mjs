// Calls at the end of JavaScript's stack.

/** By the words of V8 and WebKit, and of Firefox. No regular expression: V8 ends the process where it cannot compile one. */
export const isEndOfStack = (error) =>
  error instanceof Error && (error.message.includes('Maximum call stack') || error.message === 'too much recursion');

// The way down is made in frames of this many arguments, until so many of them are left.
const room = new Array(1000).fill(0);
const last = 8;

/**
 * Makes a call `frames` frames above the end of the stack, and gives or throws what it does. A frame of this takes about as
 * much as one of any small function; there are 500 at least.
 */
export function atEndOfStack(frames, call) {
  let [above, left] = [last, frames];
  let outcome;
  const dive = () => {
    try {
      dive();
    } catch (error) {
      if (outcome !== undefined || !isEndOfStack(error)) throw error;
      if (left > 0) {
        left -= 1;
        throw error;
      }
      outcome = 'called';
      outcome = { result: call() };
    }
  };
  const plunge = (...all) => {
    try {
      plunge(...all);
    } catch (error) {
      if (above === 0 || !isEndOfStack(error)) throw error;
      above -= 1;
      if (above > 0) throw error;
      dive();
    }
  };
  try {
    plunge(...room);
  } catch (error) {
    if (outcome === undefined) throw new RangeError(`there are fewer than ${frames} frames`, { cause: error });
    throw error;
  }
  return outcome.result;
}
