// Calls at the end of JavaScript's stack.

/** By the words of V8 and WebKit, and of Firefox. No regular expression: V8 ends the process where it cannot compile one. */
export const isEndOfStack = (error) =>
  error instanceof Error && (error.message.includes('Maximum call stack') || error.message === 'too much recursion');

/**
 * Makes a call `frames` frames above the end of the stack, and gives or throws what it does. A frame of this takes about as
 * much as one of any small function.
 */
export function atEndOfStack(frames, call) {
  let left = frames;
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
  dive();
  return outcome.result;
}
