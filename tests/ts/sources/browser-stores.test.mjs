// What browsers keep files in, in Node: an origin private file system and a Cache API of this file's own, which fail on
// demand. tests/web/sweeps/cached.test.mjs has those of browsers.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UnsupportedError } from 'ropewalk';
import { cached, openSafetensors, StorageError, storedFiles } from 'ropewalk/models';
import { bytes, changeable, opened, rw, short, two } from '../support/kept.mjs';

const notFound = () => new DOMException('nothing of this name', 'NotFoundError');

// Both have `items`, by name, and `state`: { quota, full: whether writing fails }.
const stores = {
  'the origin private file system'(items, state) {
    const folder = {
      async getFileHandle(name, { create = false } = {}) {
        if (!items.has(name) && !create) throw notFound();
        if (create && !items.has(name)) items.set(name, Buffer.alloc(0));
        return {
          getFile: async () => new Blob([items.get(name)]),
          async createWritable() {
            const pieces = [];
            return {
              async write(piece) {
                if (state.full) throw new DOMException('no room', 'QuotaExceededError');
                pieces.push(Buffer.from(piece));
              },
              close: async () => void items.set(name, Buffer.concat(pieces)),
            };
          },
        };
      },
      async removeEntry(name) {
        if (!items.delete(name)) throw notFound();
      },
      async *keys() {
        yield* items.keys();
      },
    };
    const getDirectory = async () => ({
      async getDirectoryHandle(name, { create }) {
        assert.deepEqual([name, create], ['ropewalk', true]);
        return folder;
      },
    });
    class FileSystemFileHandle {
      createWritable() {}
    }
    return { FileSystemFileHandle, navigator: { storage: { getDirectory } } };
  },
  'the Cache API'(items, state) {
    const nameOf = (address) => address.replace('https://ropewalk.invalid/', '');
    const cache = {
      async match(address) {
        const kept = items.get(nameOf(address));
        return kept && new Response(kept, { headers: { 'content-length': kept.length } });
      },
      async put(address, response) {
        if (state.full) throw new DOMException('no room', 'QuotaExceededError');
        items.set(nameOf(address), Buffer.from(await response.arrayBuffer()));
      },
      delete: async (address) => items.delete(nameOf(address)),
      keys: async () => [...items.keys()].map((name) => ({ url: `https://ropewalk.invalid/${name}` })),
    };
    const caches = {
      async open(name) {
        assert.equal(name, 'ropewalk');
        return cache;
      },
    };
    return { caches, navigator: { storage: {} } };
  },
};

const names = ['FileSystemFileHandle', 'caches', 'navigator', 'process'];

// Runs work where these are the globals, and no process is.
async function inBrowser(globals, work) {
  const before = names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name));
  const set = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  for (const name of names) set(name, globals[name]);
  try {
    return await work();
  } finally {
    for (const [i, name] of names.entries()) {
      if (before[i] === undefined) delete globalThis[name];
      else Object.defineProperty(globalThis, name, before[i]);
    }
  }
}

for (const [what, make] of Object.entries(stores)) {
  describe(what, () => {
    const made = () => {
      const items = new Map();
      const state = { quota: undefined, full: false };
      const globals = make(items, state);
      globals.navigator.storage.estimate = async () => ({
        quota: state.quota,
        usage: [...items.values()].reduce((sum, { length }) => sum + length, 0),
      });
      return { items, state, globals };
    };

    test('keeps a file, gives it without the server, replaces a changed one and forgets a deleted one', async (t) => {
      const { items, state: store, globals } = made();
      const { url, requests, state } = await changeable(t);
      await inBrowser(globals, async () => {
        await opened(cached(url));
        assert.deepEqual(requests, ['GET bytes=0-']);
        await opened(cached(url));
        assert.deepEqual(requests.slice(1), ['HEAD bytes=0-']);
        state.gone = true;
        await opened(cached(url));
        Object.assign(state, { gone: false, bytes: two.bytes, headers: { ETag: '"b"' } });
        await opened(cached(url), two);
        const [stored, ...others] = await storedFiles();
        assert.deepEqual(others, []);
        assert.deepEqual(
          [stored.address, stored.bytes, stored.complete, stored.validator],
          [url, two.bytes.length, true, '"b"'],
        );
        await stored.delete();
        assert.deepEqual(await storedFiles(), []);
        assert.equal(items.size, 0);
        // A part of a file that lies in several pieces of storage.
        store.quota = 2 ** 30;
        const file = await openSafetensors(rw, cached(url));
        const seen = [];
        await file.stream('large', (piece) => seen.push(...piece), { start: 400_000, end: 400_008 });
        assert.deepEqual(new Float32Array(Uint8Array.from(seen).buffer), two.want.large.slice(100_000, 100_002));
        file.dispose();
      });
    });

    test('says what room is missing, before a download and within one', async (t) => {
      const { state: store, globals } = made();
      const { url, requests } = await changeable(t);
      await inBrowser(globals, async () => {
        store.quota = 1000;
        await assert.rejects(openSafetensors(rw, cached(url)), (error) => {
          assert.ok(error instanceof StorageError, error.stack);
          assert.deepEqual([error.file, error.needed, error.available], [url.replace(/\?.*/, ''), bytes.length, 1000]);
          return true;
        });
        assert.equal(requests.length, 1);
        Object.assign(store, { quota: undefined, full: true });
        await assert.rejects(openSafetensors(rw, cached(url)), (error) => {
          assert.ok(error instanceof StorageError, error.stack);
          assert.match(error.message, /cannot be kept: no room/);
          assert.equal(error.available, undefined);
          return true;
        });
        Object.assign(store, { quota: 0, full: false });
        await assert.rejects(openSafetensors(rw, cached(url)), { name: 'StorageError', available: 0 });
      });
    });

    test("takes turns by the browser's locks, which end their wait with the signal", async (t) => {
      const { globals } = made();
      const { url } = await changeable(t, { bytes: short });
      const asked = [];
      globals.navigator.locks = {
        async request(name, options, work) {
          asked.push([name, options.signal]);
          options.signal?.throwIfAborted();
          return work();
        },
      };
      const { signal } = new AbortController();
      await inBrowser(globals, async () => {
        await opened(cached(url));
        await opened(cached(url), undefined, { signal });
        const [stored] = await storedFiles();
        await stored.delete();
      });
      const name = `ropewalk  ${url}`;
      assert.deepEqual(asked, [
        [name, undefined],
        [name, signal],
        [name, undefined],
      ]);
    });
  });
}

test('a page without storage is refused, and so is a folder in a page that has some', async (t) => {
  const { url } = await changeable(t);
  const globals = stores['the Cache API'](new Map(), {});
  await inBrowser({ navigator: {} }, () =>
    assert.rejects(openSafetensors(rw, cached(url)), (error) => {
      assert.ok(error instanceof UnsupportedError, error.stack);
      assert.equal(error.message, 'cached: this page has no storage; it needs https, or localhost');
      return true;
    }),
  );
  await inBrowser(globals, async () => {
    const message = 'cached: folder is "files"; expected none, since a browser has storage of its own';
    assert.throws(() => cached(url, { folder: 'files' }), { name: 'ArgumentTypeError', message });
  });
});

test('storage that cannot be opened is named', async (t) => {
  const { url } = await changeable(t);
  const caches = {
    async open() {
      throw new DOMException('storage is off', 'SecurityError');
    },
  };
  await inBrowser({ caches, navigator: {} }, async () => {
    const refused = { name: 'StorageError', file: 'storage', message: 'storage: cannot be used: storage is off' };
    await assert.rejects(openSafetensors(rw, cached(url)), refused);
    await assert.rejects(storedFiles(), refused);
  });
});
