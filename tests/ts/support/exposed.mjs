// The object that the tests of ropewalk/worker call in another thread, in Node and in a browser.
import { ArgumentRangeError, load } from 'ropewalk';
import { openGguf, openSafetensors, StorageError } from 'ropewalk/models';

/** Events in this thread, for queries from the other. */
const events = [];

export const made = async () => {
  const rw = await load({ simd: 'deterministic' });
  const kept = Float32Array.of(1, 2, 3, 4);
  const heap = rw.tensor([4], kept);
  return {
    softmax: (x, options) => rw.softmax(x, options),
    tensor: (shape, data) => rw.tensor(shape, data),
    pair: (data) => ({ list: [rw.tensor([data.length], data)], plain: 1 }),
    sumOf: ({ tensor }) => tensor.data().reduce((a, b) => a + b, 0),
    memory: () => rw.memory(),
    part: () => kept.subarray(1, 3),
    view: () => heap.view(),
    echo: (value) => value,
    take: (bytes) => bytes.byteLength,
    openGguf: (source, options) => openGguf(rw, source, options),
    openSafetensors: (source, options) => openSafetensors(rw, source, options),
    fail: () => rw.rope({ headDim: 63 }),
    throwIt: ({ kind }) => {
      if (kind === 'text') throw 'only text';
      if (kind === 'nothing') throw undefined;
      if (kind === 'object') throw { a: 1 };
      if (kind === 'dom') throw new DOMException('gone', 'NotFoundError');
      if (kind === 'storage') throw new StorageError('file', 'is full', { needed: 2, available: 1 });
      if (kind === 'own') throw Object.assign(new Error('own'), { name: 'OwnError', code: 'E_OWN', value: new Map() });
      throw new ArgumentRangeError('here', 'x', 3, 'is 3', { cause: 1 });
    },
    caused: () => {
      throw new TypeError('outer', { cause: new RangeError('inner') });
    },
    unsendable: () => ({ f: () => {}, tensor: rw.tensor([1]) }),
    async steps(count, { onProgress, signal } = {}) {
      for (let i = 0; i < count; ++i) {
        signal?.throwIfAborted();
        onProgress?.({ loaded: i + 1, total: count });
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return 'done';
    },
    // The signal does not end this: it has nothing to do any more when it hears of it.
    async deaf(signal) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return signal.aborted;
    },
    async *count(to, { signal, onProgress } = {}) {
      try {
        for (let i = 0; i < to; ++i) {
          signal?.throwIfAborted();
          onProgress?.(i);
          yield { token: i, row: Float32Array.of(i, i + 1) };
        }
      } finally {
        events.push('count ended');
      }
    },
    // Its caller hears of it when it has ended.
    toldLast: ({ onProgress }) => {
      onProgress();
      return { tensor: rw.tensor([4]) };
    },
    late: async () =>
      (async function* () {
        yield 1;
        throw new RangeError('after one');
      })(),
    events: () => events.splice(0),
    notAFunction: 5,
    crash: () => {
      setTimeout(() => process.exit(3));
    },
  };
};
