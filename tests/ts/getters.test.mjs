// Getters among the arguments of every public function that meddle while they are read: they make the heap grow, take the
// memory of other arguments, dispose of what is called, call the same again. The call gives its result or an error that tells
// why not, and the next one its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorNames } from './support/bad-values.mjs';
import { attempt, disposeOf, hasGrown, isPlain, makeCalls, memoryOf, methodOf } from './support/calls.mjs';

const all = await makeCalls();
const { rw, calls, kept } = all;

function floatsIn(value) {
  if (value instanceof Float32Array) return [value];
  return isPlain(value) || Array.isArray(value) ? Object.values(value).flatMap(floatsIn) : [];
}

// Each gets the target, the arguments, and the name; gives what is to be disposed of afterwards.
const meddlings = {
  grows: () => rw.tensor([2 ** 19]),
  detaches: (_target, args) => {
    const buffers = new Set(floatsIn(args).map(({ buffer }) => buffer));
    const own = [...buffers].filter(
      (buffer) => buffer instanceof ArrayBuffer && buffer.byteLength > 0 && buffer.byteLength < 4096,
    );
    structuredClone(0, { transfer: own });
  },
  disposes: (target) => {
    if (!kept.includes(target)) target.dispose?.();
  },
  're-enters': (_target, _args, name) => {
    const [on, args] = calls[name];
    const target = on();
    if (typeof target.then === 'function') return target;
    const own = args();
    const result = target[methodOf(name)](...own);
    return [result === target ? undefined : result, own, target];
  },
};
// Unless it refuses: a cache or a state may have changed meanwhile.
const keepsBits = new Set(['grows', 're-enters']);

/** Arguments with copies of all plain objects, and the places of their properties. */
function copied(value, places) {
  if (Array.isArray(value)) return value.map((each) => copied(each, places));
  if (value instanceof Float32Array && value.buffer.byteLength < 4096) return value.slice();
  if (!isPlain(value)) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copied(each, places)]));
  for (const name of Object.keys(copy)) places.push([copy, name]);
  return copy;
}

for (const name of Object.keys(calls)) {
  const places = [];
  copied(calls[name][1](), places);
  if (places.length === 0) continue;
  test(`${name} bears getters that meddle`, async () => {
    const { bits: wanted } = await attempt(all, name);
    for (const [how, meddle] of Object.entries(meddlings)) {
      for (let place = 0; place < places.length; ++place) {
        const before = memoryOf(all);
        const garbage = [];
        const outcome = await attempt(all, name, undefined, (target, given) => {
          const own = [];
          const args = copied(given, own);
          const [object, key] = own[place];
          const value = object[key];
          let isFirst = true;
          const get = () => {
            if (isFirst) {
              isFirst = false;
              garbage.push(meddle(target, args, name));
            }
            return value;
          };
          Object.defineProperty(object, key, { get, enumerable: true, configurable: true });
          return args;
        });
        for (const each of await Promise.all(garbage))
          disposeOf(Array.isArray(each) ? await Promise.all(each) : each, kept);
        const at = `${places[place][1]} ${how}`;
        if (outcome.error !== undefined) assert.ok(errorNames.has(outcome.error.name), `${at}: ${outcome.error.stack}`);
        if (keepsBits.has(how) && outcome.error?.name !== 'StateError')
          assert.equal(outcome.bits, wanted, `${at}: ${outcome.error?.message}`);
        assert.ok(!hasGrown(all, before), `${at}: ${memoryOf(all)} after ${before}`);
      }
      assert.equal((await attempt(all, name)).bits, wanted, how);
    }
  });
}
