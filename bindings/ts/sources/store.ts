// Storage for files that are kept: items with a name, each written whole or not at all. In browsers the origin private
// file system or, where that cannot be written to, the Cache API; elsewhere a folder.
import { UnsupportedError } from '../runtime/errors.js';
import { blobSource } from './blob.js';
import { fileSystem } from './node-files.js';
import { openPath } from './path.js';
import { type ByteSource, unlessAborted } from './source.js';

export interface Store {
  /** The bytes of an item, or undefined where it is missing or cannot be opened. */
  open(name: string): Promise<ByteSource | undefined>;
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  delete(name: string): Promise<void>;
  names(): Promise<string[]>;
  /** Bytes that are left, if that is known. */
  available(): Promise<number | undefined>;
}

/** The folder, or without one the storage of the browser. */
export async function storeOf(folder: string | undefined): Promise<Store> {
  if (folder !== undefined) return folderStore(folder);
  if (globalThis.FileSystemFileHandle?.prototype.createWritable !== undefined) return privateStore();
  if (globalThis.caches !== undefined) return cacheStore();
  throw new UnsupportedError('cached: this page has no storage; it needs https, or localhost');
}

const title = 'ropewalk';

async function estimated(): Promise<number | undefined> {
  const { quota, usage = 0 } = await navigator.storage.estimate();
  return quota === undefined ? undefined : Math.max(0, quota - usage);
}

async function privateStore(): Promise<Store> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle(title, { create: true });
  return {
    async open(name) {
      const handle = await folder.getFileHandle(name).catch(() => undefined);
      return handle && blobSource(await handle.getFile());
    },
    async write(name, bytes) {
      const handle = await folder.getFileHandle(name, { create: true });
      const stream = await handle.createWritable();
      await stream.write(bytes);
      await stream.close(); // until here the item is as it was before
    },
    delete: (name) => folder.removeEntry(name),
    async names() {
      const names: string[] = [];
      for await (const name of folder.keys()) names.push(name);
      return names;
    },
    available: estimated,
  };
}

async function cacheStore(): Promise<Store> {
  const cache = await caches.open(title);
  const addressOf = (name: string) => `https://${title}.invalid/${name}`;
  return {
    async open(name) {
      const found = await cache.match(addressOf(name));
      if (found === undefined) return undefined;
      const size = Number(found.headers.get('content-length'));
      found.body?.cancel().catch(() => {}); // read below, so that bytes are in memory only while they are needed
      async function* read(from: number, to: number): AsyncIterable<Uint8Array> {
        const blob = await (await cache.match(addressOf(name)))?.blob();
        if (blob !== undefined) yield* blobSource(blob).read(from, to, undefined);
      }
      return { name, size, read };
    },
    write: (name, bytes) =>
      cache.put(addressOf(name), new Response(bytes, { headers: { 'content-length': String(bytes.length) } })),
    async delete(name) {
      await cache.delete(addressOf(name));
    },
    names: async () => (await cache.keys()).map(({ url }) => url.slice(addressOf('').length)),
    available: estimated,
  };
}

async function folderStore(folder: string): Promise<Store> {
  const fs = await fileSystem('cached: this runtime has no files');
  const pathOf = (name: string) => `${folder}/${name}`;
  return {
    open: (name) => openPath(pathOf(name), { replaced: true }).catch(() => undefined),
    async write(name, bytes) {
      const path = pathOf(`${name}.${crypto.randomUUID()}`);
      await fs.mkdir(folder, { recursive: true });
      try {
        await fs.writeFile(path, bytes, { flush: true });
        await fs.rename(path, pathOf(name));
      } catch (error) {
        await fs.rm(path, { force: true }).catch(() => {});
        throw error;
      }
    },
    delete: (name) => fs.rm(pathOf(name), { force: true }),
    names: () => fs.readdir(folder).catch((error) => (error.code === 'ENOENT' ? [] : Promise.reject(error))),
    async available() {
      const { bavail, bsize } = await fs.statfs(folder);
      return bavail * bsize;
    },
  };
}

const turns = new Map<string, Promise<unknown>>();

/**
 * Does work while nobody else does work under the same name: in no page of this origin, or nowhere in this process.
 * `signal` ends the wait; work that has begun ends itself.
 */
export async function alone<T>(name: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const { locks } = globalThis.navigator ?? {};
  if (locks !== undefined) return locks.request(`${title} ${name}`, signal === undefined ? {} : { signal }, work);
  const before = (turns.get(name) ?? Promise.resolve()).catch(() => {});
  const turn = before.then(work);
  turns.set(name, turn);
  const end = () => {
    if (turns.get(name) === turn) turns.delete(name);
  };
  turn.then(end, end);
  await unlessAborted(before, signal);
  return turn;
}
