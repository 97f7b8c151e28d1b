// Objects of the platform, of this realm, another one or a library that has its own. Anyone can write a toStringTag, and
// the getters of a bare prototype throw: what is used of an object has to be there too.

interface Kinds {
  URL: URL;
  Blob: Blob;
  Response: Response;
  AbortSignal: AbortSignal;
  Map: ReadonlyMap<unknown, unknown>;
}

/** Whether Object.prototype.toString calls the value so (a File is a Blob), and it has these properties. */
export function isA<K extends keyof Kinds>(kind: K, value: unknown, ...used: (keyof Kinds[K])[]): value is Kinds[K] {
  try {
    const text: string = Object.prototype.toString.call(value).replace('File', 'Blob');
    return text === `[object ${kind}]` && used.every((name) => (value as Kinds[K])[name] !== undefined);
  } catch {
    return false; // a proxy that was revoked, or a getter without its object
  }
}

/** The text of an address that came as a string or a URL; undefined for anything else. */
export function addressOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : isA('URL', value, 'href') ? `${value.href}` : undefined;
}
