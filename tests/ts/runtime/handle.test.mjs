// The lifetime of tensors, plans and layers: freed once, then refused, and never used in another instance.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { randomArray } from '../support/arrays.mjs';
import { run } from '../support/node.mjs';
import { inUse } from '../support/peak.mjs';
import { testMisfits } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const other = await load({ simd: 'deterministic' });
const x = randomArray([2, 4]);

const makers = {
  tensor: (instance) => instance.tensor([2, 4], x.data),
  plan: (instance) => instance.rope({ headDim: 4 }),
  'plan with lists': (instance) =>
    instance.rope({ headDim: 4, scaling: { type: 'custom', inverseFrequencies: [1, 0.5] } }),
  cache: (instance) => instance.kvCache({ kvHeads: 2, headDim: 4, capacity: 8 }),
  layer: (instance) => instance.attentionLayer({ modelDim: 4, heads: 2 }),
  'linear state': (instance) => instance.linearAttentionState({ headDim: 4 }),
  'layer with rope': (instance) => instance.attentionLayer({ modelDim: 4, heads: 2, position: { encoding: 'rope' } }),
  'layer with sinusoids': (instance) =>
    instance.attentionLayer({ modelDim: 4, heads: 2, position: { encoding: 'sinusoidal' } }),
};

for (const [name, make] of Object.entries(makers)) {
  test(`dispose() of a ${name} gives all its memory back, once`, () => {
    make(rw).dispose();
    const before = inUse(rw);
    const made = make(rw);
    assert.equal(made.disposed, false);
    assert.ok(rw.memory().usedBytes > before.usedBytes);
    assert.ok(rw.memory().liveObjects > before.liveObjects);
    made.dispose();
    assert.equal(made.disposed, true);
    assert.deepEqual(inUse(rw), before);
    made.dispose();
    assert.deepEqual(inUse(rw), before);
  });

  test(`a ${name} counts as one live object`, () => {
    const before = rw.memory().liveObjects;
    const made = make(rw);
    assert.equal(rw.memory().liveObjects, before + 1);
    made.dispose();
  });

  test(`Symbol.dispose of a ${name} is dispose()`, { skip: !Symbol.dispose && 'no Symbol.dispose here' }, () => {
    const made = make(rw);
    made[Symbol.dispose]();
    assert.equal(made.disposed, true);
  });
}

test('using frees at the end of the block', async (t) => {
  const code = `export const disposed = (make) => { let kept; { using made = make(); kept = made; } return kept.disposed; };`;
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}`).catch((error) => error);
  if (module instanceof SyntaxError) return t.skip('this runtime has no using declarations');
  for (const make of Object.values(makers))
    assert.equal(
      module.disposed(() => make(rw)),
      true,
    );
});

// Objects that are dead from the start, and objects that live elsewhere.
const dead = Object.fromEntries(
  Object.entries(makers).map(([name, make]) => {
    const made = make(rw);
    made.dispose();
    return [name, made];
  }),
);
const plan = makers.plan(rw);
const layer = makers.layer(rw);
const state = makers['linear state'](rw);
const used = {
  'data() of': ['tensor', () => dead.tensor.data()],
  'data(out) of': ['tensor', () => dead.tensor.data(new Float32Array(8))],
  'set() of': ['tensor', () => dead.tensor.set(x.data)],
  'view() of': ['tensor', () => dead.tensor.view()],
  'rotate() of': ['plan', () => dead.plan.rotate(x)],
  'unrotate() of': ['plan', () => dead.plan.unrotate(x)],
  'tables() of': ['plan', () => dead.plan.tables([1])],
  'forward() of': ['layer', () => dead.layer.forward(x)],
  'forward() with rope of': ['layer', () => dead['layer with rope'].forward(x)],
};
for (const [name, make] of Object.entries(makers)) {
  test(`what a ${name} says of itself cannot be changed: memory is used by it`, () => {
    const made = make(rw);
    assert.ok(Object.keys(made).length > 2);
    for (const key of Object.keys(made)) {
      assert.throws(() => {
        made[key] = 4000;
      }, TypeError);
    }
    made.dispose();
  });
}

testMisfits(
  rw,
  'an instance',
  Object.fromEntries(
    Object.entries(used).map(([method, [kind, call]]) => [
      `${method} a disposed ${kind}`,
      [StateError, [method.split('(')[0], 'disposed'], call],
    ]),
  ),
);

const takers = {
  'rotate x': (t) => plan.rotate(t),
  'unrotate x': (t) => plan.unrotate(t),
  'attention q': (t) => rw.attention(t, x, x),
  'attention k': (t) => rw.attention(x, t, x),
  'attention v': (t) => rw.attention(x, x, t),
  'linearAttention q': (t) => rw.linearAttention(t, x, x),
  'linearAttention k': (t) => rw.linearAttention(x, t, x),
  'linearAttention v': (t) => rw.linearAttention(x, x, t),
  'recurrentAttention q': (t) => rw.recurrentAttention(t, x, x, { updateRule: 'linear' }),
  'append k': (t) => state.append(x, t, x),
  'attention bias': (t) => rw.attention(x, x, x, { bias: t }),
  'forward x': (t) => layer.forward(t),
};
const foreign = other.tensor([2, 4], x.data);
for (const [name, call] of Object.entries(takers)) {
  const [where, argument] = name.split(' ');
  testMisfits(rw, where, {
    [`a disposed tensor as ${argument}`]: [StateError, [argument, 'disposed'], () => call(dead.tensor)],
    [`a tensor of another instance as ${argument}`]: [StateError, [argument, 'another instance'], () => call(foreign)],
  });
}

test('a plan works with tensors of its own instance only', () => {
  const theirs = makers.plan(other);
  assert.throws(() => theirs.rotate(rw.tensor([2, 4])), StateError);
  theirs.dispose();
});

test('what is disposed keeps telling its sizes', () => {
  assert.deepEqual(dead.tensor.shape, [2, 4]);
  assert.equal(dead.plan.headDim, 4);
  assert.equal(dead.layer.modelDim, 4);
});

test('objects that nobody holds any more are freed by the garbage collector', async () => {
  const script = `
    import { load } from 'ropewalk';
    const rw = await load();
    const { setImmediate: turn } = await import('node:timers/promises');
    const make = {
      tensor: () => rw.tensor([100000]),
      plan: () => rw.rope({ headDim: 512 }),
      layer: () => rw.attentionLayer({ modelDim: 128, heads: 2, position: { encoding: 'rope' } }),
      'linear state': () => rw.linearAttentionState({ headDim: 128 }),
    };
    for (const one of Object.values(make)) one().dispose();
    const before = rw.memory();
    for (const [name, one] of Object.entries(make)) {
      (() => { for (let i = 0; i < 20; ++i) one(); })();
      for (let i = 0; i < 100 && rw.memory().liveObjects > 0; ++i) { gc(); await turn(); }
      const { usedBytes, liveObjects } = rw.memory();
      console.log(name, liveObjects, usedBytes - before.usedBytes);
    }`;
  const { stdout } = await run(['--expose-gc', '--input-type=module', '-e', script]);
  assert.deepEqual(stdout.trim().split('\n'), ['tensor 0 0', 'plan 0 0', 'layer 0 0', 'linear state 0 0']);
});

test('an instance that nobody holds any more is gone with its objects in one collection', async () => {
  const script = `
    import { load } from 'ropewalk';
    const { setImmediate: turn } = await import('node:timers/promises');
    const heap = new WeakRef((await load()).rope({ headDim: 512 }).heap);
    await turn();
    gc();
    console.log(heap.deref());`;
  const { stdout } = await run(['--expose-gc', '--input-type=module', '-e', script]);
  assert.equal(stdout, 'undefined\n');
});

test('where there is no FinalizationRegistry objects are freed by dispose() alone', async () => {
  const program = `delete globalThis.FinalizationRegistry;
const { load } = await import('ropewalk');
const { wrap } = await import('ropewalk/worker');
const rw = await load();
const before = rw.memory().liveObjects;
const plan = rw.rope({ headDim: 4 });
const during = rw.memory().liveObjects;
plan.dispose();
console.log(typeof wrap, during - before, rw.memory().liveObjects - before);`;
  const { stdout, stderr } = await run(['--input-type=module', '--eval', program]);
  assert.equal(stdout + stderr, 'function 1 0\n');
});

test('a plan or a layer that a getter of an option disposes of is refused as disposed', async () => {
  const instance = await load();
  const plan = instance.rope({ headDim: 2 });
  const disposing = (object, name) => ({
    get [name]() {
      object.dispose();
      return 0;
    },
  });
  const x = new Float32Array(4);
  assert.throws(() => plan.rotate(x, disposing(plan, 'offset')), { name: 'StateError' });
  const [from, to] = [instance.rope({ headDim: 2 }), instance.rope({ headDim: 2 })];
  const options = Object.defineProperties({ to: 1, plan: to }, Object.getOwnPropertyDescriptors(disposing(to, 'from')));
  assert.throws(() => from.rerotate(x, options), { name: 'StateError' });
  const layer = instance.attentionLayer({ modelDim: 4, heads: 2 });
  const input = { data: new Float32Array(8), shape: [2, 4] };
  assert.throws(() => layer.forward(input, disposing(layer, 'offset')), { name: 'StateError' });
  from.dispose();
  assert.equal(instance.memory().liveObjects, 0);
});

test('a cache or a plan that a getter of an argument disposes of is refused as disposed, and harms nothing', async () => {
  const instance = await load();
  const sizes = { kvHeads: 1, headDim: 4 };
  const x = { data: new Float32Array(8).fill(1), shape: [1, 1, 2, 4] };
  const cache = () => {
    const plan = instance.rope({ headDim: 4 });
    return { plan, cache: instance.kvCache({ ...sizes, rope: { plan } }).append(x, x) };
  };
  const calls = {
    'merge, at': (one, gone) =>
      one.merge(cache().cache, {
        get at() {
          return gone();
        },
      }),
    'merge, first': (one, gone) =>
      one.merge(cache().cache, {
        get first() {
          return gone() ?? 0;
        },
      }),
    'shift, first': (one, gone) =>
      one.shift(1, {
        get first() {
          return gone() ?? 0;
        },
      }),
    'attend, queryOffset': (one, gone) =>
      one.attend(x, {
        get queryOffset() {
          return gone() ?? 1;
        },
      }),
    'attend, data': (one, gone) =>
      one.attend({
        get data() {
          gone();
          return x.data;
        },
        shape: x.shape,
      }),
    'append, data': (one, gone) =>
      one.append(
        {
          get data() {
            gone();
            return x.data;
          },
          shape: x.shape,
        },
        x,
      ),
    'append, offset': (one, gone) =>
      one.append(x, x, {
        get offset() {
          return gone() ?? 9;
        },
      }),
  };
  for (const [name, call] of Object.entries(calls)) {
    for (const what of ['cache', 'plan']) {
      const made = cache();
      assert.throws(() => call(made.cache, () => made[what].dispose()), { name: 'StateError' }, `${name}: the ${what}`);
    }
  }
  const other = cache();
  assert.throws(
    () =>
      cache().cache.merge(other.cache, {
        get at() {
          return other.cache.dispose();
        },
      }),
    { name: 'StateError' },
  );
  const { plan } = cache();
  assert.throws(
    () =>
      plan.tables({
        get length() {
          plan.dispose();
          return 2;
        },
      }),
    { name: 'StateError' },
  );
  const kept = cache().cache.shift(3).keys(); // the instance is as it was
  assert.ok(kept.data.every(Number.isFinite));
});
