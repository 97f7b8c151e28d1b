// Small pieces of work, with room for the reader between them: none of them may take longer than a frame or two, and
// together they may.
import { pause } from './pause';

// Milliseconds in which what was done is laid out and drawn: all of it together would make a long frame. A frame costs as
// much as many pieces, so that those of less than `share` have one in common.
const frame = 16;
const share = 8;
const queue: (() => void)[] = [];
let running: Promise<void> | undefined;

// A piece that throws does not stop the later ones.
function attempt(work: () => void): void {
  try {
    work();
  } catch (error) {
    reportError(error);
  }
}

async function run(): Promise<void> {
  for (let end = 0; ; ) {
    if (queue.length === 0 || performance.now() > end) {
      await pause(frame);
      end = performance.now() + share;
    }
    const work = queue.shift();
    if (work === undefined) break;
    attempt(work);
  }
  running = undefined;
}

/** Does a piece of work when its turn comes. */
export function soon(work: () => void): void {
  queue.push(work);
  running ??= run();
}

// Milliseconds that the page waits for another thread; a picture that takes longer comes later.
const longest = 3000;
const others = new Set<Promise<unknown>>();

/** Counts work of another thread among what was put off. */
export function alsoWait(work: Promise<unknown>): void {
  const waited = Promise.race([work, pause(longest)]);
  others.add(waited);
  void waited.finally(() => others.delete(waited));
}

/** Resolves when all that was put off is done. */
export async function settled(): Promise<void> {
  await running;
  while (others.size > 0) await Promise.all(others);
}

/** Does all of it now, for a printer that does not wait. */
export function flush(): void {
  queue.splice(0).forEach(attempt);
}
