// The state of the page is the hash of its address, so that every picture is a link and "back" undoes.
//
//   #lang=en&order.map.words=the+dog&order.map.encoding=rope
//
// Fields of a chapter are written all together once one of them was touched: a link then keeps its meaning when
// a default, or the reader's language, is another one.

/** One value of the state and its form in the address. */
export interface Field<T> {
  readonly initial: T;
  /** undefined: this text means nothing; the field then has its initial value. */
  parse(text: string): T | undefined;
  /** undefined: leave the field out of the address. */
  print(value: T): string | undefined;
}

type Fields = Readonly<Record<string, Field<unknown>>>;

/** The values of some fields, by name. */
export type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** One of some names. */
export function choice<T extends string>(names: readonly T[], initial: T): Field<T> {
  return { initial, parse: (text) => names.find((name) => name === text), print: (value) => value };
}

/** Yes or no. */
export function flag(initial: boolean): Field<boolean> {
  return {
    initial,
    parse: (text) => (text === '1' ? true : text === '0' ? false : undefined),
    print: (v) => (v ? '1' : '0'),
  };
}

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number, initial: number): Field<number> {
  const parse = (text: string): number | undefined => {
    const value = Number(text);
    return text !== '' && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
  };
  return { initial, parse, print: String };
}

/** One of some numbers. */
export function oneOf(values: readonly number[], initial: number): Field<number> {
  return { initial, parse: (text) => values.find((value) => String(value) === text), print: String };
}

/** The numbers from 0 to n - 1, each once; undefined: in order. */
export function order(initial?: readonly number[]): Field<readonly number[] | undefined> {
  return {
    initial,
    parse(text) {
      const places = text.split(',').map(Number);
      const known = new Set(places);
      return places.every((_, i) => known.has(i)) ? places : undefined;
    },
    print: (places) => places?.join(','),
  };
}

/** Any text, cut at `maxLength`, not within a character. */
export function text(maxLength: number, initial: string): Field<string> {
  const parse = (given: string): string => given.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '');
  return { initial, parse, print: (value) => value };
}

/** Some fields of the state, under a prefix. */
export class Section<F extends Fields> {
  readonly #state: State;
  readonly #prefix: string;
  readonly #fields: F;

  /** @internal */
  constructor(state: State, prefix: string, fields: F) {
    this.#state = state;
    this.#prefix = prefix;
    this.#fields = fields;
  }

  get values(): Values<F> {
    const read = ([name, field]: [string, Field<unknown>]) => {
      const given = this.#state.read(this.#prefix + name);
      return [name, (given === undefined ? undefined : field.parse(given)) ?? field.initial];
    };
    return Object.fromEntries(Object.entries(this.#fields).map(read)) as Values<F>;
  }

  /**
   * Changes some values. Each call is one step of "back", except that calls with the same gesture, one after the
   * other, are one step together: typing, or dragging a slider.
   */
  set(patch: Partial<Values<F>>, gesture?: string): void {
    const next: Record<string, unknown> = { ...this.values, ...patch };
    const printed = Object.entries(this.#fields).map(
      ([name, field]) => [this.#prefix + name, field.print(next[name])] as const,
    );
    this.#state.write(printed, gesture === undefined ? undefined : this.#prefix + gesture);
  }

  /** Changes some values without a step of "back". */
  amend(patch: Partial<Values<F>>): void {
    const printed = Object.keys(patch).map(
      (name) => [this.#prefix + name, this.#fields[name]?.print(patch[name])] as const,
    );
    this.#state.amend(printed);
  }

  /** Calls back after every change of these values. Gives a function that ends it. */
  subscribe(listener: () => void): () => void {
    const read = (): string =>
      Object.keys(this.#fields)
        .map((name) => this.#state.read(this.#prefix + name))
        .join('\n');
    let known = read();
    return this.#state.subscribe(() => {
      const now = read();
      if (now === known) return;
      known = now;
      listener();
    });
  }

  /** Back to the initial values. */
  reset(): void {
    this.#state.write(Object.keys(this.#fields).map((name) => [this.#prefix + name, undefined] as const));
  }
}

// What an entry of the history holds, unless somebody has just come by a link.
const visited = {};

// Browsers refuse addresses that change more than about ten times a second.
const writeInterval = 250;

/** The whole state. */
export class State {
  #entries = new Map<string, string>();
  #gesture: string | undefined;
  #pending: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #always: () => readonly (readonly [string, string])[];

  /** @param always entries that are part of every address that this page writes. */
  constructor(always: () => readonly (readonly [string, string])[]) {
    this.#always = always;
    this.#load();
    history.replaceState(visited, '');
    // Comes with back and forward, and when somebody edits the hash.
    addEventListener('popstate', () => {
      clearTimeout(this.#pending);
      this.#pending = undefined;
      this.#gesture = undefined;
      this.#load();
      this.#notify();
    });
    addEventListener('pagehide', () => this.#flush());
  }

  section<F extends Fields>(id: string, fields: F): Section<F> {
    return new Section(this, id === '' ? '' : `${id}.`, fields);
  }

  /** Calls back after every change. Gives a function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The address of the page as it is now, with some more entries. */
  link(more: Readonly<Record<string, string>>): string {
    const entries = new URLSearchParams([...this.#entries]);
    for (const [key, value] of [...this.#always(), ...Object.entries(more)]) entries.set(key, value);
    return new URL(`#${entries}`, location.href).href;
  }

  /** @internal */
  read(key: string): string | undefined {
    return this.#entries.get(key);
  }

  /** @internal */
  write(entries: readonly (readonly [string, string | undefined])[], gesture?: string): void {
    const before = this.#hash();
    this.#enter(entries);
    if (this.#hash() === before) return;
    if (gesture !== undefined && gesture === this.#gesture) {
      this.#pending ??= setTimeout(() => this.#flush(), writeInterval);
    } else {
      this.#flush(before);
      history.pushState(visited, '', this.#hash());
      this.#gesture = gesture;
    }
    this.#notify();
  }

  /** @internal */
  amend(entries: readonly (readonly [string, string | undefined])[]): void {
    if (entries.every(([key, value]) => this.#entries.get(key) === value)) return;
    this.#enter(entries);
    history.replaceState(visited, '', this.#hash());
    this.#notify();
  }

  #enter(entries: readonly (readonly [string, string | undefined])[]): void {
    for (const [key, value] of entries) {
      if (value === undefined) this.#entries.delete(key);
      else this.#entries.set(key, value);
    }
    for (const [key, value] of this.#always()) this.#entries.set(key, value);
  }

  #flush(hash = this.#hash()): void {
    if (this.#pending === undefined) return;
    clearTimeout(this.#pending);
    this.#pending = undefined;
    history.replaceState(visited, '', hash);
  }

  #load(): void {
    // The id of a chapter or a figure, as other pages may link to it, is a place.
    const [, place] = /^#(?:chapter|figure)-([\w-]+)$/.exec(location.hash) ?? [];
    this.#entries = new Map(place ? [['at', place.replace('-', '.')]] : new URLSearchParams(location.hash.slice(1)));
  }

  #hash(): string {
    return `#${new URLSearchParams([...this.#entries])}`;
  }

  #notify(): void {
    // The set itself, not a copy: who was removed by an earlier listener is not called any more.
    for (const listener of this.#listeners) listener();
  }
}
