// Long work in slices: what else waits on this thread has its turn between two.

const slice = 12; // ms of work, after which others are let in

type Task = (run: () => void) => void;

// setTimeout waits 4 ms where it is nested; scheduler.yield() lets no message through, and so no signal from a page.
function turnOf(): Task {
  const { setImmediate } = globalThis as { setImmediate?: Task };
  if (setImmediate !== undefined) return setImmediate;
  return (run) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      run();
    };
    port2.postMessage(undefined);
  };
}

/** Gives turns when they are due. @internal */
export class EventLoop {
  readonly #turn = turnOf();
  #since = performance.now();

  /** Lets others run if this has not been done for a while. */
  async pause(): Promise<void> {
    if (performance.now() - this.#since < slice) return;
    await new Promise<void>((resolve) => this.#turn(resolve));
    this.#since = performance.now();
  }
}
