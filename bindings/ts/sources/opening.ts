// Opens the sources of a file and of those that belong to it; a failure closes all of them.
import * as check from '../runtime/check.js';
import { ArgumentTypeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type FileSource, openSource } from './open-source.js';
import { isA } from './platform.js';
import { type ByteSource, CachedFile, type Fetch, messageOf, SourceFailure, withoutSecrets } from './source.js';
import { bytesOf, type Entry, type FailureOf, type ReadOptions, readOptions, type TensorInfo } from './tensor-file.js';

/** Options of openSafetensors() and openGguf(). */
export interface OpenOptions extends ReadOptions {
  /** Replaces the global fetch(), for example to add headers. ArgumentTypeError where it gives no Response. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** A tensor of a header; `begin` and `end` are offsets in the file, in bytes. @internal */
export interface HeaderTensor<Dtype extends string> extends Pick<TensorInfo<Dtype>, 'dtype' | 'shape'> {
  readonly name: string;
  readonly begin: number;
  readonly end: number;
}

/** A source whose header was read. @internal */
export interface OpenFile<Header> {
  readonly source: ByteSource;
  readonly header: Header;
}

/** @internal */
export class Opening {
  readonly heap: Heap;
  readonly where: string;
  readonly read: ReadOptions;
  readonly #Failure: FailureOf;
  readonly #fetch: Fetch;
  readonly #sources: ByteSource[] = [];

  /** `finder` is the caller's function that gives the sources of further files, by the name of its option. */
  constructor(heap: Heap, where: string, Failure: FailureOf, options: OpenOptions, finder: Record<string, unknown>) {
    const { fetch = (url, init) => globalThis.fetch(url, init) } = options;
    for (const [name, value] of Object.entries({ fetch, ...finder })) check.functionIfAny(where, name, value);
    this.heap = heap;
    this.where = where;
    this.read = readOptions(where, options);
    this.#Failure = Failure;
    this.#fetch = async (url, init) => {
      const response = await fetchedBy(fetch, url, init);
      if (isA('Response', response, 'headers')) return response;
      throw new ArgumentTypeError(where, 'fetch()', response, 'a Response');
    };
  }

  async open(name: string, value: FileSource): Promise<ByteSource> {
    const { signal } = this.read;
    signal?.throwIfAborted();
    try {
      const source = await openSource(this.where, name, value, this.#fetch, this.read);
      this.#sources.push(source);
      signal?.throwIfAborted();
      return source;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof SourceFailure)) throw error;
      throw new this.#Failure(nameOf(value), undefined, error.message, { cause: error.cause ?? error });
    }
  }

  /** The bytes of a header or index, which belong to no tensor. */
  bytesOf(source: ByteSource, from: number, to: number, mayEnd?: boolean): AsyncIterable<Uint8Array> {
    return bytesOf(this.#Failure, source, undefined, from, to, this.read.signal, mayEnd);
  }

  /** What `work` gives; if it fails, all sources are closed. */
  async closing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      for (const source of this.#sources) source.close?.();
      throw error;
    }
  }

  /** The tensors of all files by their names; refuses one that two of them hold. */
  entriesOf<Dtype extends string>(
    files: readonly OpenFile<{ readonly tensors: readonly HeaderTensor<Dtype>[] }>[],
  ): Map<string, Entry<Dtype>> {
    const entries = new Map<string, Entry<Dtype>>();
    for (const { source, header } of files) {
      const { name: file } = source;
      for (const { name, dtype, shape, begin, end } of header.tensors) {
        const before = entries.get(name);
        if (before) throw new this.#Failure(file, name, `is in ${before.info.file} as well`);
        entries.set(name, { info: Object.freeze({ dtype, shape, byteLength: end - begin, file }), source, begin });
      }
    }
    return entries;
  }
}

async function fetchedBy(fetch: Fetch, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    // Node's fetch names the address with its password where it refuses that.
    const why = messageOf(error).replaceAll(url, withoutSecrets);
    throw new SourceFailure(`cannot be fetched: ${why}`, { cause: error });
  }
}

// The name in errors of what could not be opened.
function nameOf(value: unknown): string {
  const text = String(value instanceof CachedFile ? value.address : value);
  return text.startsWith('data:') ? 'data:' : withoutSecrets(text);
}

const filesAtOnce = 6;

/** Does work for each of several files, a few at a time; rejects only when no work is running any more. @internal */
export async function forFiles<T, R>(files: readonly T[], work: (file: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < files.length; i += filesAtOnce) {
    for (const result of await Promise.allSettled(files.slice(i, i + filesAtOnce).map(work))) {
      if (result.status === 'rejected') throw result.reason;
      results.push(result.value);
    }
  }
  return results;
}
