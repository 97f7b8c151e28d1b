// Work for a wish that changes faster than it can be done, as under a slider: one piece at a time, then the latest wish.
// Work that is no longer wanted is not begun, and is ended where it takes long; shorter work may finish, so that a
// moving slider shows something.

// Milliseconds that work may go on after its wish has changed.
const patience = 150;

export interface Latest {
  /** Does the work for the present wish, unless it is done or on its way. Resolves when nothing is. */
  follow(): Promise<void>;
  /** Ends what is on its way. It is not begun again before the wish changes. */
  cancel(): void;
  /** Ends it for good. */
  end(): void;
  /** Whether the present wish is still to be fulfilled. */
  readonly isBehind: boolean;
}

// The reason of a signal that was not aborted on request.
const superseded = new DOMException('another wish took its place', 'AbortError');

/**
 * @param wish a text that names what is wanted now and differs from all others.
 * @param work does it. The signal tells it to end, and `isWanted` whether it is still what is wished. Must not throw.
 * @param changed is called after each piece of work.
 */
export function latest(
  wish: () => string,
  work: (signal: AbortSignal, isWanted: () => boolean) => Promise<void>,
  changed: () => void,
): Latest {
  let done: string | undefined;
  let last = Promise.resolve();
  let running: { readonly wish: string; readonly controller: AbortController } | undefined;
  let isOver = false;
  let ending: ReturnType<typeof setTimeout> | undefined;

  async function run(): Promise<void> {
    for (let now = wish(); now !== done && !isOver; now = wish()) {
      const own = { wish: now, controller: new AbortController() };
      const { signal } = own.controller;
      running = own;
      await work(signal, () => signal.reason !== superseded && wish() === now);
      // Ended because of another wish, it is not done, should that one be taken back.
      done = signal.reason === superseded ? undefined : now;
      if (!isOver) changed();
      clearTimeout(ending);
      ending = undefined;
    }
    running = undefined;
  }

  return {
    follow() {
      if (running === undefined) {
        if (wish() !== done) last = run();
      } else if (wish() === running.wish) {
        clearTimeout(ending);
        ending = undefined;
      } else {
        const { controller } = running;
        ending ??= setTimeout(() => controller.abort(superseded), patience);
      }
      return last;
    },
    cancel: () => running?.controller.abort(),
    end() {
      isOver = true;
      running?.controller.abort(superseded);
    },
    get isBehind() {
      return wish() !== done;
    },
  };
}
