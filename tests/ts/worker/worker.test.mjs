// Calls across threads: values, arrays, proxies of objects, errors, signals, callbacks, iteration, termination.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { MessageChannel, Worker } from 'node:worker_threads';
import { ArgumentRangeError, ArgumentTypeError, load, StateError } from 'ropewalk';
import { GgufError, SafetensorsError, StorageError } from 'ropewalk/models';
import { expose, transfer, wrap } from 'ropewalk/worker';
import { random } from '../support/arrays.mjs';
import { made } from '../support/exposed.mjs';
import { writeGguf } from '../support/gguf.mjs';
import { run } from '../support/node.mjs';
import { writeSafetensors } from '../support/safetensors.mjs';

const rw = await load({ simd: 'deterministic' });

const worker = () => new Worker(new URL('../support/exposed-worker.mjs', import.meta.url));
const channel = () => {
  const { port1, port2 } = new MessageChannel();
  expose(made, port2);
  return port1;
};

/** A proxy for one test, whose worker ends with the test. */
const opened = (t, port) => {
  const remote = wrap(port);
  t.after(() => remote.dispose());
  return remote;
};

for (const [kind, open] of Object.entries({ 'a worker of Node': worker, 'a message port': channel })) {
  describe(kind, () => {
    test('gives what a call here gives, bit for bit', async (t) => {
      const remote = opened(t, open());
      const x = { data: random(64), shape: [4, 16] };
      const { data, shape } = await remote.softmax(x);
      assert.deepEqual(shape, [4, 16]);
      assert.deepEqual(data, rw.softmax(x).data);
      assert.equal(x.data.length, 64); // copied, not moved
    });

    test('moves what transfer() gives away, also before the worker listens', async (t) => {
      const remote = opened(t, open());
      for (let i = 0; i < 2; ++i) {
        const bytes = new Uint8Array(1000);
        const sent = remote.take(transfer(bytes));
        assert.equal(bytes.length, 0);
        assert.equal(await sent, 1000);
        const buffer = new ArrayBuffer(10);
        assert.equal(await remote.take(transfer(buffer)), 10);
        assert.equal(buffer.byteLength, 0);
      }
    });

    test('copies wasm memory that transfer() gives away, also before the worker listens', async (t) => {
      const remote = opened(t, open());
      for (let i = 0; i < 2; ++i) {
        const { buffer } = new WebAssembly.Memory({ initial: 1 });
        assert.equal(await remote.take(transfer(new Uint8Array(buffer))), 65536);
        assert.equal(buffer.byteLength, 65536);
      }
    });

    test('sends arguments as they are at the time of the call', async (t) => {
      const remote = opened(t, open());
      const data = Float32Array.of(1, 2);
      const sent = remote.echo(data);
      data.fill(9);
      assert.deepEqual(await sent, Float32Array.of(1, 2));
    });

    test('sends parts of arrays as parts, and leaves what the worker keeps', async (t) => {
      const remote = opened(t, open());
      for (let i = 0; i < 2; ++i) {
        const part = await remote.part();
        assert.deepEqual(part, Float32Array.of(2, 3));
        assert.equal(part.buffer.byteLength, 8);
        const view = await remote.view(); // of wasm memory, which cannot be moved
        assert.deepEqual(view, Float32Array.of(1, 2, 3, 4));
        assert.equal(view.buffer.byteLength, 16);
      }
      const wide = new Float32Array(1e6);
      const got = await remote.echo(wide.subarray(10, 13));
      assert.equal(got.buffer.byteLength, 12);
      assert.equal(wide.length, 1e6);
    });

    test('brings every kind of value through', async (t) => {
      const remote = opened(t, open());
      const loop = { list: [1, null, undefined, 'x', 5n, Number.NaN, -0, true] };
      loop.self = loop;
      const values = [1, 'text', undefined, null, 7n, [], {}, [[1], [2]], new Date(5), new Map([[1, { a: 2 }]])];
      for (const value of values) assert.deepEqual(await remote.echo(value), value);
      const back = await remote.echo(loop);
      assert.equal(back.self, back);
      assert.deepEqual(back.list, loop.list);
      assert.deepEqual(await remote.echo([BigInt64Array.of(1n), new Uint8Array(3)]), [
        BigInt64Array.of(1n),
        new Uint8Array(3),
      ]);
      const [url] = await remote.echo([new URL('https://example.org/a?b=c#d')]);
      assert.ok(url instanceof URL);
      assert.equal(url.href, 'https://example.org/a?b=c#d');
    });

    test('keeps objects with memory in the worker, alone and within results and arguments', async (t) => {
      const remote = opened(t, open());
      const before = await remote.memory();
      const tensor = await remote.tensor([3], Float32Array.of(1, 2, 3));
      assert.deepEqual(await tensor.data(), Float32Array.of(1, 2, 3));
      assert.equal(await remote.sumOf({ tensor }), 6);
      const { list, plain } = await remote.pair(Float32Array.of(4, 5));
      assert.equal(plain, 1);
      assert.equal(await remote.sumOf({ tensor: list[0] }), 9);
      assert.equal((await remote.memory()).liveObjects, before.liveObjects + 2);
      await tensor.dispose();
      await tensor.dispose();
      await list[0][Symbol.asyncDispose]();
      assert.equal((await remote.memory()).liveObjects, before.liveObjects);
      await assert.rejects(tensor.data(), StateError);
      await assert.rejects(remote.sumOf({ tensor }), StateError);
    });

    test('opens a file of weights given to it', async (t) => {
      const remote = opened(t, open());
      const bytes = writeSafetensors({ w: { dtype: 'F32', shape: [2], data: Float32Array.of(1, 2) } });
      const progress = [];
      const file = await remote.openSafetensors(transfer(Uint8Array.from(bytes)), {
        onProgress: ({ loaded, total }) => progress.push(loaded / total),
      });
      assert.deepEqual(await file.tensor('w'), Float32Array.of(1, 2));
      assert.equal(progress.at(-1), 1);
      await assert.rejects(file.tensor('v'), (error) => {
        assert.ok(error instanceof ArgumentRangeError && error instanceof RangeError);
        assert.equal(error.argument, 'name');
        return true;
      });
      await file.dispose();
      await assert.rejects(remote.openSafetensors(new Uint8Array(20)), (error) => {
        assert.ok(error instanceof SafetensorsError);
        assert.equal(error.name, 'SafetensorsError');
        assert.equal(error.file, 'buffer');
        assert.equal(error.tensor, undefined);
        return true;
      });
      const gguf = writeGguf({ 'general.alignment': ['u32', 24] }, {});
      await assert.rejects(remote.openGguf(gguf), (error) => {
        assert.ok(error instanceof GgufError);
        assert.deepEqual([error.name, error.file, error.key], ['GgufError', 'buffer', 'general.alignment']);
        return true;
      });
    });

    test('throws what the worker threw, as the class it was', async (t) => {
      const remote = opened(t, open());
      const here = await Promise.resolve()
        .then(() => rw.rope({ headDim: 63 }))
        .catch((error) => error);
      await assert.rejects(remote.fail(), (error) => {
        assert.equal(error.constructor, here.constructor);
        assert.equal(error.message, here.message);
        assert.deepEqual([error.name, error.argument, error.value], [here.name, here.argument, here.value]);
        assert.ok(error instanceof Error && error.stack.length > 0);
        return true;
      });
      const thrown = (kind) => remote.throwIt({ kind }).then(assert.fail, (error) => error);
      assert.equal(await thrown('text'), 'only text');
      assert.equal(await thrown('nothing'), undefined);
      assert.equal(await thrown('object'), 'an object');
      const dom = await thrown('dom');
      assert.ok(dom instanceof DOMException);
      assert.deepEqual([dom.name, dom.message], ['NotFoundError', 'gone']);
      const storage = await thrown('storage');
      assert.ok(storage instanceof StorageError);
      assert.deepEqual([storage.file, storage.needed, storage.available], ['file', 2, 1]);
      assert.equal(storage.message, 'file: is full (needs 2 bytes more; storage has 1 left)');
      const own = await thrown('own');
      assert.deepEqual([own.name, own.message, own.code, own.value], ['OwnError', 'own', 'E_OWN', 'a Map']);
      const caused = await remote.caused().catch((error) => error);
      assert.ok(caused instanceof TypeError && caused.cause instanceof RangeError);
      assert.equal(caused.cause.message, 'inner');
      assert.equal(await remote.echo(1), 1);
    });

    test('refuses what is no function of the object, and what cannot travel', async (t) => {
      const remote = opened(t, open());
      for (const name of ['missing', 'notAFunction', 'constructor', 'toString', '__proto__', 'hasOwnProperty']) {
        await assert.rejects(remote[name](), (error) => error instanceof ArgumentRangeError && error.argument === name);
      }
      const { liveObjects } = await remote.memory();
      await assert.rejects(remote.unsendable(), ArgumentTypeError);
      await assert.rejects(remote.echo(Symbol('s')), ArgumentTypeError);
      await assert.rejects(remote.echo(new WeakMap()), ArgumentTypeError);
      assert.ok((await remote.memory()).liveObjects <= liveObjects + 1);
      assert.equal(await remote.echo(1), 1);
    });

    test('calls back in order, before the result', async (t) => {
      const remote = opened(t, open());
      const seen = [];
      assert.equal(await remote.steps(5, { onProgress: (p) => seen.push(p.loaded) }), 'done');
      assert.deepEqual(seen, [1, 2, 3, 4, 5]);
    });

    test('ends a call whose callback throws, with what it threw', async (t) => {
      const remote = opened(t, open());
      const mine = new Error('enough');
      let calls = 0;
      const onProgress = () => {
        calls += 1;
        if (calls === 2) throw mine;
      };
      await assert.rejects(remote.steps(1e9, { onProgress }), (error) => error === mine);
      assert.equal(calls, 2);
      await assert.rejects(remote.steps(2, { onProgress: () => assert.fail() }), assert.AssertionError);
    });

    test('keeps nothing of what a call gives whose callback threw at the end', async (t) => {
      const remote = opened(t, open());
      const mine = new Error('enough');
      const onProgress = () => {
        throw mine;
      };
      const { liveObjects } = await remote.memory();
      for (let i = 0; i < 3; ++i) await assert.rejects(remote.toldLast({ onProgress }), (error) => error === mine);
      assert.equal((await remote.memory()).liveObjects, liveObjects);
    });

    test('ends a call with the reason of its signal', async (t) => {
      const remote = opened(t, open());
      const before = AbortSignal.abort('never began');
      await assert.rejects(remote.steps(5, { signal: before }), (error) => error === 'never began');
      for (const reason of [new Error('stop'), 'text', undefined, null, 0]) {
        const controller = new AbortController();
        const onProgress = ({ loaded }) => loaded === 3 && controller.abort(reason);
        const { signal } = controller;
        await assert.rejects(remote.steps(1e9, { signal, onProgress }), (error) => error === signal.reason);
      }
      const controller = new AbortController();
      const deaf = remote.deaf(controller.signal);
      controller.abort();
      assert.equal(await deaf, true); // a call that finishes all the same has its result
      assert.equal(await remote.echo(2), 2);
    });

    test('is iterated without awaiting, or after', async (t) => {
      const remote = opened(t, open());
      const tokens = [];
      for await (const { token, row } of remote.count(3)) tokens.push([token, ...row]);
      assert.deepEqual(tokens, [
        [0, 0, 1],
        [1, 1, 2],
        [2, 2, 3],
      ]);
      assert.deepEqual(await remote.events(), ['count ended']);
      const iterator = await remote.count(2);
      assert.equal((await iterator.next()).value.token, 0);
      assert.deepEqual(await iterator.return(), { done: true, value: undefined });
      assert.deepEqual(await iterator.next(), { done: true, value: undefined });
      assert.deepEqual(await remote.events(), ['count ended']);
      const late = [];
      await assert.rejects(async () => {
        for await (const value of remote.late()) late.push(value);
      }, /after one/);
      assert.deepEqual(late, [1]);
      await assert.rejects(async () => {
        for await (const _ of remote.echo([1])) assert.fail();
      }, ArgumentRangeError);
    });

    test('ends an iteration that is left early, aborted, or whose callback throws', async (t) => {
      const remote = opened(t, open());
      for await (const { token } of remote.count(1e9)) if (token === 2) break;
      assert.deepEqual(await remote.events(), ['count ended']);
      const controller = new AbortController();
      const reason = new Error('stop');
      await assert.rejects(
        async () => {
          for await (const { token } of remote.count(1e9, { signal: controller.signal })) {
            if (token === 2) controller.abort(reason);
          }
        },
        (error) => error === reason,
      );
      assert.deepEqual(await remote.events(), ['count ended']);
      const onProgress = (i) => {
        if (i === 3) throw reason;
      };
      await assert.rejects(
        async () => {
          for await (const _ of remote.count(1e9, { onProgress }));
        },
        (error) => error === reason,
      );
    });

    test('answers nothing once it was disposed of', async () => {
      const remote = wrap(open());
      assert.equal(await remote.echo(1), 1);
      const pending = assert.rejects(remote.steps(1e9, { onProgress() {} }), StateError);
      await remote.dispose(); // which ends the call on the other side too
      await pending;
      await assert.rejects(remote.echo(1), StateError);
      const early = wrap(open());
      const queued = assert.rejects(early.echo(1), StateError);
      await early.dispose();
      await queued;
    });

    test('is not taken for a promise', async (t) => {
      const remote = opened(t, open());
      assert.equal(await remote, remote);
      assert.equal(remote.then, undefined);
      assert.equal(remote.echo, remote.echo);
      assert.throws(() => {
        remote.echo = 1;
      }, TypeError);
    });
  });
}

test('an object that the other side has forgotten is let go', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ make: () => ({ dispose() {}, two: () => 2 }) }, port2);
  t.after(() => port1.close());
  const answer = (request) =>
    new Promise((resolve) => {
      port1.on('message', (reply) => reply.id === request.id && resolve(reply));
      port1.postMessage(request);
    });
  const call = (id, target, method) => answer({ ropewalk: 'call', id, target, method, args: [] });
  const target = (await call(1, 0, 'make')).value['ropewalk:object'];
  assert.equal((await call(2, target, 'two')).value, 2);
  port1.postMessage({ ropewalk: 'free', target });
  assert.match(JSON.stringify(await call(3, target, 'two')), /this object was disposed/);
});

test('an object of another worker is no argument', async (t) => {
  const [one, other] = [opened(t, channel()), opened(t, channel())];
  const tensor = await one.tensor([1]);
  await assert.rejects(other.sumOf({ tensor }), ArgumentRangeError);
  assert.equal(await one.sumOf({ tensor }), 0);
});

test('a worker that fails or ends rejects its calls', async () => {
  const broken = wrap(new Worker('throw new RangeError("no start")', { eval: true }));
  await assert.rejects(broken.echo(1), (error) => error instanceof StateError && /no start/.test(error.cause.message));
  await assert.rejects(broken.echo(1), StateError);
  const ending = wrap(worker());
  const pending = assert.rejects(ending.steps(1e9), StateError);
  await ending.crash();
  await pending;
});

test('an object that could not be made fails every call with the same error', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const maker = () => {
    throw new RangeError('no object');
  };
  expose(maker, port2);
  const remote = opened(t, port1);
  await assert.rejects(remote.anything(), /no object/);
  await assert.rejects(remote.other(), RangeError);
  const empty = new MessageChannel();
  expose(async () => 5, empty.port2);
  await assert.rejects(opened(t, empty.port1).anything(), ArgumentTypeError);
});

test('whatever is thrown, the call ends and the worker lives', async (t) => {
  const thrown = {
    message: Object.assign(new Error('m'), { message: () => {} }),
    stack: Object.assign(new Error('m'), { stack: { f() {} } }),
    name: Object.assign(new Error('m'), { name: Symbol('name') }),
    cause: Object.defineProperty(new Error('m'), 'cause', {
      get() {
        throw new Error('getter');
      },
    }),
    proxy: new Proxy(
      {},
      {
        getPrototypeOf() {
          throw new Error('trap');
        },
      },
    ),
  };
  const { port1, port2 } = new MessageChannel();
  const fail = (which) => {
    throw thrown[which];
  };
  expose({ fail, echo: (x) => x }, port2);
  const remote = opened(t, port1);
  for (const which of Object.keys(thrown)) {
    await assert.rejects(
      remote.fail(which),
      (error) => error instanceof StateError && /cannot go to another thread/.test(error.message),
    );
  }
  assert.equal(await remote.echo(1), 1);
});

test('a part of a Buffer of Node is copied, too, and the rest of its memory stays here', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const store = Buffer.alloc(20000, 7);
  expose(
    { length: (x) => x.buffer.byteLength, part: () => store.subarray(10, 20), text: () => Buffer.from('abc') },
    port2,
  );
  const remote = opened(t, port1);
  const mine = Buffer.alloc(20000, 5);
  assert.equal(await remote.length(mine.subarray(10, 20)), 10);
  assert.equal(mine.length, 20000);
  for (let i = 0; i < 2; ++i) assert.deepEqual([...(await remote.part())], Array(10).fill(7));
  assert.equal(store.length, 20000);
  assert.equal((await remote.text()).buffer.byteLength, 3);
});

test('an array that was given away before is refused, not waited for', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const kept = Float32Array.of(1, 2, 3);
  async function* items() {
    yield kept;
  }
  const tell = (hear) => hear(kept);
  expose({ table: () => kept, buffer: () => kept.buffer, items, tell, size: (x) => x.length ?? x.byteLength }, port2);
  const remote = opened(t, port1);
  assert.deepEqual(await remote.table(), Float32Array.of(1, 2, 3));
  for (const [argument, again] of [
    ['result', () => remote.table()],
    ['result', () => remote.buffer()],
    ['item', () => remote.items().then((each) => each.next())],
    ['arguments', () => remote.tell(() => {})],
  ]) {
    await assert.rejects(again, (error) => error instanceof ArgumentTypeError && error.argument === argument);
  }
  for (const array of [new Uint8Array(8), new ArrayBuffer(8)]) {
    assert.equal(await remote.size(transfer(array)), 8);
    const refused = (error) => error instanceof ArgumentTypeError && /given away before/.test(error.message);
    await assert.rejects(remote.size(transfer(array)), refused);
    await assert.rejects(remote.size({ deep: [array] }), refused);
  }
  assert.equal(await remote.size(new Float32Array(0)), 0); // empty, not gone
});

test('arrays of another realm, as of a frame, are moved, too', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ size: (x) => x.byteLength }, port2);
  const remote = opened(t, port1);
  for (const code of ['new ArrayBuffer(8)', 'new Float32Array(2)', 'new DataView(new ArrayBuffer(8))']) {
    const array = runInNewContext(code);
    const { buffer = array } = array;
    assert.equal(await remote.size(transfer(array)), 8);
    assert.equal(buffer.byteLength, 0, code);
    await assert.rejects(remote.size(array), /given away before/);
  }
});

test('a DataView is moved, and sent without the rest of its buffer, as a typed array is', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ seen: (view) => [view.constructor.name, view.getInt16(0), view.byteLength, view.buffer.byteLength] }, port2);
  const remote = opened(t, port1);
  const buffer = new ArrayBuffer(16);
  const part = new DataView(buffer, 4, 8);
  part.setInt16(0, -7);
  assert.deepEqual(await remote.seen(part), ['DataView', -7, 8, 8]);
  const whole = new DataView(buffer);
  assert.deepEqual(await remote.seen(transfer(whole)), ['DataView', 0, 16, 16]);
  assert.equal(buffer.byteLength, 0);
  await assert.rejects(remote.seen(transfer(whole)), /given away before/);
});

test('transfer() refuses what is neither an array nor a buffer', () => {
  for (const value of [3, null, undefined, 'text', [1], { data: new Float32Array(1) }]) {
    assert.throws(() => transfer(value), { name: 'ArgumentTypeError', argument: 'array', value });
  }
  for (const array of [new DataView(new ArrayBuffer(1)), Buffer.alloc(1), new ArrayBuffer(0)]) {
    assert.equal(transfer(array), array);
  }
});

test('a message that cannot be read on either side rejects what waits', async () => {
  const port = () => {
    const heard = {};
    return { heard, on: (type, listener) => Object.assign(heard, { [type]: listener }), sent: [], postMessage };
  };
  function postMessage(message) {
    this.sent.push(message);
  }
  const [here, there] = [port(), port()];
  const remote = wrap(here);
  here.heard.message({ ropewalk: 'ready' });
  expose({}, there);
  there.heard.messageerror();
  assert.deepEqual(there.sent.at(-1), { ropewalk: 'unread' });
  for (const fail of [() => here.heard.messageerror(), () => here.heard.message({ ropewalk: 'unread' })]) {
    const waiting = assert.rejects(
      remote.one(),
      (error) => error instanceof StateError && /be read/.test(error.message),
    );
    fail();
    await waiting;
  }
});

test('what stays in the worker does so within a Map and a Set, as well', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const sums = (map, set) => [map.get('a'), ...set].map((tensor) => tensor.data()[0]);
  expose(
    {
      map: () => new Map([['a', rw.tensor([1], Float32Array.of(2))]]),
      set: () => new Set([rw.tensor([1], Float32Array.of(3))]),
      sums,
    },
    port2,
  );
  const remote = opened(t, port1);
  const [map, set] = [await remote.map(), await remote.set()];
  assert.deepEqual(await map.get('a').data(), Float32Array.of(2));
  assert.deepEqual(await remote.sums(map, set), [2, 3]);
  await Promise.all([map.get('a'), ...set].map((tensor) => tensor.dispose()));
});

test('an argument that cannot travel is named', async (t) => {
  const remote = opened(t, channel());
  await assert.rejects(remote.echo(1, Symbol('q')), (error) => {
    assert.ok(error instanceof ArgumentTypeError);
    assert.match(error.message, /^remote\.echo: argument 2 is Symbol\(q\); expected a value that can go/);
    return error.argument === 'argument 2';
  });
});

test('a field called __proto__ is a field', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ echo: (x) => x, keys: (x) => Object.keys(x) }, port2);
  const remote = opened(t, port1);
  const odd = JSON.parse('{ "__proto__": { "a": 1 }, "b": 2 }');
  assert.deepEqual(await remote.keys(odd), ['__proto__', 'b']);
  assert.equal(JSON.stringify(await remote.echo(odd)), JSON.stringify(odd));
});

test('what a function is given is copied: its owner may use it again', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const own = Float32Array.of(1, 2, 3);
  const exposed = {
    tell: (f) => {
      f(own);
      f({ own, all: own.buffer });
      return own.length;
    },
    odd: (f) => f(Symbol('q')),
  };
  expose(exposed, port2);
  const remote = opened(t, port1);
  const heard = [];
  assert.equal(await remote.tell((x) => heard.push(x)), 3);
  assert.deepEqual(heard, [own, { own, all: own.buffer }]);
  await assert.rejects(
    remote.odd(() => {}),
    { name: 'ArgumentTypeError', argument: 'arguments' },
  );
});

test('data that reads like a placeholder arrives as it was', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ echo: (x) => x, kind: (x) => typeof x['ropewalk:function'] }, port2);
  const remote = opened(t, port1);
  const all = ['object', 'function', 'signal', 'url', 'plain'].map((kind) => ({ [`ropewalk:${kind}`]: 0 }));
  assert.deepEqual(await remote.echo(all), all);
  assert.deepEqual(await remote.echo({ 'ropewalk:plain': all }), { 'ropewalk:plain': all });
  assert.equal(await remote.kind({ 'ropewalk:function': 1 }), 'number');
  assert.equal(await remote.kind({ 'ropewalk:function': () => 1 }), 'function');
  const ring = { 'ropewalk:object': 1 };
  ring.self = ring;
  const found = await remote.echo([ring, ring]);
  assert.ok(found[0] === found[1] && found[0].self === found[0]);
});

test('an iteration whose item cannot travel is left', async (t) => {
  const { port1, port2 } = new MessageChannel();
  let ended = false;
  async function* items() {
    try {
      yield 1;
      yield () => {};
    } finally {
      ended = true;
    }
  }
  expose({ items, ended: () => ended }, port2);
  const remote = opened(t, port1);
  const seen = [];
  await assert.rejects(async () => {
    for await (const item of remote.items()) seen.push(item);
  }, ArgumentTypeError);
  assert.deepEqual([seen, await remote.ended()], [[1], true]);
});

test('an iteration that nobody goes on with is ended', async () => {
  const code = `
    import { expose, wrap } from 'ropewalk/worker';
    const { port1, port2 } = new MessageChannel();
    const ended = [];
    async function* count(name) {
      try {
        for (let i = 0; ; ++i) yield i;
      } finally {
        ended.push(name);
      }
    }
    expose({ count }, port2);
    const remote = wrap(port1);
    const kept = await remote.count('kept');
    await kept.next();
    const { next } = await remote.count('next');
    await (async () => (await remote.count('begun')).next())();
    for (let i = 0; i < 9 || (i < 100 && ended.length < 1); ++i) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    console.log(ended.join(), (await kept.next()).value, (await next()).value);
    await remote.dispose();
  `;
  const { stdout } = await run(['--expose-gc', '--input-type=module', '--eval', code]);
  assert.equal(stdout, 'begun 1 0\n');
});

test('an error of a callback ends an iteration, though it is called but once', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const left = [];
  async function* items({ onProgress }) {
    try {
      onProgress();
      for (let i = 0; i < 9; ++i) yield { dispose: () => left.push(i) };
    } finally {
      left.push('items');
    }
  }
  expose({ items, left: () => left }, port2);
  const remote = opened(t, port1);
  const onProgress = () => {
    throw new RangeError('enough');
  };
  let seen = 0;
  await assert.rejects(
    async () => {
      for await (const _ of remote.items({ onProgress })) ++seen;
    },
    { name: 'RangeError', message: 'enough' },
  );
  assert.equal(seen, 0);
  assert.deepEqual((await remote.left()).toSorted(), [0, 'items']);
});

test('a text of a proxy leaves no rejection behind', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ echo: (x) => x }, port2);
  const remote = opened(t, port1);
  const unhandled = [];
  const hear = (error) => unhandled.push(error.message);
  process.on('unhandledRejection', hear);
  t.after(() => process.off('unhandledRejection', hear));
  assert.throws(() => String(remote), TypeError);
  assert.equal(JSON.stringify([remote]), '[{}]');
  for (let i = 0; i < 5; ++i) await remote.echo(i);
  assert.deepEqual(unhandled, []);
});

test('a generator that yields where it is left ends all the same', async (t) => {
  const { port1, port2 } = new MessageChannel();
  async function* items({ onProgress }) {
    try {
      for (;;) {
        onProgress();
        yield 1;
      }
    } finally {
      yield 2;
    }
  }
  expose({ items }, port2);
  const remote = opened(t, port1);
  const { signal } = new AbortController();
  let listeners = 0;
  signal.addEventListener = () => ++listeners;
  signal.removeEventListener = () => --listeners;
  for await (const _ of remote.items({ signal, onProgress() {} })) break;
  assert.equal(listeners, 0);
  const onProgress = () => {
    throw new RangeError('enough');
  };
  await assert.rejects(
    async () => {
      for await (const _ of remote.items({ onProgress })) assert.fail();
    },
    { name: 'RangeError', message: 'enough' },
  );
});

test('an error of a callback disposes of nothing that the caller has', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const shared = rw.tensor([1]);
  const use = (tensor, onProgress) => {
    onProgress();
    return { tensor, shared, made: rw.tensor([1]) };
  };
  expose({ make: () => rw.tensor([1]), use }, port2);
  const remote = opened(t, port1);
  const tensor = await remote.make();
  const first = await remote.use(tensor, () => {});
  const { liveObjects } = rw.memory();
  const onProgress = () => {
    throw new RangeError('enough');
  };
  await assert.rejects(remote.use(tensor, onProgress), { message: 'enough' });
  assert.deepEqual(await tensor.data(), Float32Array.of(0));
  assert.deepEqual(await first.shared.data(), Float32Array.of(0));
  assert.equal(rw.memory().liveObjects, liveObjects); // that of the failed call alone is gone
  await Promise.all([tensor, first.shared, first.made].map((each) => each.dispose()));
});

test('what a function is given that nobody hears of is let go', async () => {
  const code = `
    import { expose, wrap } from 'ropewalk/worker';
    const { port1, port2 } = new MessageChannel();
    let collected = 0;
    let kept;
    const registry = new FinalizationRegistry(() => ++collected);
    const give = (to) => {
      const thing = { dispose() {} };
      registry.register(thing);
      to(thing);
    };
    const each = (to) => {
      for (let i = 0; i < 10; ++i) give(to);
    };
    expose({ keep: (to) => { kept = to; }, late: () => each(kept), each: (to) => each(to) }, port2);
    const remote = wrap(port1);
    await remote.keep(() => {});
    await remote.late();
    await remote.each(() => { throw new Error('no'); }).catch(() => {});
    for (let i = 0; i < 100 && collected < 20; ++i) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    console.log(collected);
    await remote.dispose();
  `;
  const { stdout } = await run(['--expose-gc', '--input-type=module', '--eval', code]);
  assert.equal(stdout, '20\n');
});

test('a signal ends a call that waits for the worker to listen, which then never hears of it', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const heard = [];
  const remote = opened(t, port1);
  const controller = new AbortController();
  const aborted = remote.hear('aborted', controller.signal);
  const other = remote.hear('other');
  controller.abort('mine');
  await assert.rejects(aborted, (error) => error === 'mine');
  expose({ hear: (name) => heard.push(name) }, port2);
  await other;
  assert.deepEqual(heard, ['other']);
});

test('each of two proxies of a port gets the answers to its own calls', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const ends = [];
  const slow = (text) => new Promise((resolve) => ends.push(() => resolve(text)));
  const endAll = () => {
    for (const end of ends.reverse()) end();
  };
  expose({ slow, endAll }, port2);
  const [one, two] = [opened(t, port1), opened(t, port1)];
  const answers = [one.slow('one'), two.slow('two')];
  await two.endAll();
  assert.deepEqual(await Promise.all(answers), ['one', 'two']);
});

test('a proxy that ends the worker ends the calls of another one, too', async () => {
  const port = worker();
  // As in a browser: nobody is told of the end.
  const web = {
    postMessage: (message, moved) => port.postMessage(message, moved),
    addEventListener: (type, hear) => type === 'message' && port.on(type, (data) => hear({ data })),
    terminate: () => port.terminate(),
  };
  const [one, other] = [wrap(web), wrap(web)];
  assert.equal(await other.echo(1), 1);
  const pending = assert.rejects(other.steps(1e9), { name: 'StateError', message: 'remote: the worker was disposed' });
  await one.dispose();
  await pending;
  await assert.rejects(other.echo(1), StateError);
});

test('the proxy of a worker that has ended before waits for nothing', { timeout: 20_000 }, async () => {
  const worker = new Worker('', { eval: true });
  await once(worker, 'exit');
  await assert.rejects(wrap(worker).open(), { name: 'StateError', message: 'remote: the worker has ended' });
});

test('another proxy of a worker that was ended waits for nothing', { timeout: 20_000 }, async () => {
  for (const port of [worker(), channel()]) {
    await wrap(port).dispose();
    await assert.rejects(wrap(port).echo(1), { name: 'StateError', message: 'remote: the worker was disposed' });
  }
});

test('both sides of a port may expose an object and call that of the other', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ name: () => 'one' }, port1);
  expose({ name: () => 'two' }, port2);
  const [two, one] = [opened(t, port1), opened(t, port2)];
  assert.deepEqual(await Promise.all([two.name(), one.name()]), ['two', 'one']);
});

test('a port that exposes an object exposes no other', async (t) => {
  const { port1, port2 } = new MessageChannel();
  let calls = 0;
  expose({ count: () => ++calls }, port2);
  const remote = opened(t, port1);
  assert.throws(() => expose({ count: () => ++calls }, port2), {
    name: 'ArgumentRangeError',
    argument: 'port',
    message: /port exposes an object already/,
  });
  assert.equal(await remote.count(), 1);
  assert.equal(calls, 1);
});

test('the proxy of wrap() is an argument as any other', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const api = { name: () => 'here', nameOf: ({ of }) => of.name(), isMe: (object) => object === api };
  expose(() => api, port2);
  const remote = opened(t, port1);
  assert.equal(await remote.nameOf({ of: remote }), 'here');
  assert.equal(await remote.isMe(remote), true);
});

test('other messages on the same port are let pass', async (t) => {
  const { port1, port2 } = new MessageChannel();
  expose({ twice: (n) => 2 * n }, port2);
  const remote = opened(t, port1);
  for (const port of [port1, port2]) for (const message of [null, 5, 'text', {}, { id: 1 }]) port.postMessage(message);
  assert.equal(await remote.twice(4), 8);
});

for (const bad of [undefined, null, 1, 'worker', {}, { postMessage() {} }]) {
  test(`expose and wrap refuse ${bad === undefined ? bad : JSON.stringify(bad)} for a port`, () => {
    const named = (argument) => (error) => error instanceof ArgumentTypeError && error.argument === argument;
    assert.throws(() => wrap(bad), named('worker'));
    assert.throws(() => expose({}, bad ?? undefined), named('port'));
    if (typeof bad !== 'object') assert.throws(() => expose(bad, new MessageChannel().port1), named('target'));
  });
}
