// What the page does not wait for before it shows something.

/** A value that comes later. */
export class Coming<T> {
  /** The value, once it has come. */
  now: T | undefined;

  /** @param come rejects where it will not come; who waits for it tells why. */
  constructor(readonly come: Promise<T>) {
    this.whenHere((value) => {
      this.now = value;
    });
  }

  /** Calls back when it comes, unless it is here. */
  whenHere(then: (value: T) => void): void {
    if (this.now === undefined) this.come.then(then, () => undefined);
  }
}
