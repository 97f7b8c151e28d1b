// Calls at the end of JavaScript's stack: every public function, a few frames nearer to the beginning each time until it
// works, either leaves all as it was or loses the instance in the typed way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstanceLostError, load } from 'ropewalk';
import { attempt, hasGrown, makeCalls, memoryOf } from './support/calls.mjs';
import { atEndOfStack, isEndOfStack } from './support/dive.mjs';

// No stack frame of the package is this much larger than one of a dive.
const step = 2;
const workingAtLast = 2;

let losses = 0;
let all = await makeCalls();
const names = Object.keys(all.calls);
const wanted = {};
for (const name of names) {
  const { bits, error } = await attempt(all, name);
  assert.equal(error, undefined, name);
  wanted[name] = bits;
}

// Whether an instance was lost: then each of its functions says so.
function isLost() {
  const refusing = (use) => {
    try {
      use();
      return false;
    } catch (error) {
      assert.ok(error instanceof InstanceLostError, error);
      assert.ok(error.message.endsWith('ran out of stack; load() gives a new one'), error.message);
      return true;
    }
  };
  const uses = {
    rw: [() => all.rw.memory(), () => all.rw.tensor([2]), () => all.rw.rope({ headDim: 2 })],
    trainers: [() => all.trainers?.memory(), () => all.trainers?.resetPeak()],
  };
  const lost = Object.values(uses).filter(([first, ...others]) => {
    if (!refusing(first)) return false;
    assert.ok(others.every(refusing));
    return true;
  });
  return lost.length > 0;
}

for (const name of names) {
  test(`${name} at the end of the stack harms nothing or loses the instance`, async () => {
    all = await makeCalls(name);
    let working = 0;
    for (let frames = 0; working < workingAtLast; frames += step) {
      const before = memoryOf(all);
      const { bits, error } = await attempt(all, name, (call) => atEndOfStack(frames, call)).catch((error) => ({
        error,
      }));
      if (isLost()) {
        losses += 1;
        all = await makeCalls(name);
        continue;
      }
      working += error === undefined ? 1 : 0;
      const at = `${frames} frames before the end`;
      if (error === undefined) assert.equal(bits, wanted[name], at);
      else assert.ok(isEndOfStack(error) || isEndOfStack(error.cause), `${at}: ${error?.name}: ${error?.message}`);
      assert.ok(!hasGrown(all, before), `${at}: ${memoryOf(all)} after ${before}`);
      assert.equal((await attempt(all, name)).bits, wanted[name], at);
    }
  });
}

test('an argument that runs out of stack loses nothing', async () => {
  const rw = await load();
  const deeper = () => deeper();
  const x = { data: new Float32Array(4), shape: [2, 2] };
  const calls = [
    () => rw.rope(Object.defineProperty({}, 'headDim', { enumerable: true, get: deeper })),
    () => rw.rope({ headDim: 2 }).rotate(Object.defineProperty({ shape: [2, 2] }, 'data', { get: deeper })),
    () => rw.attention(x, x, Object.defineProperty({ shape: [2, 2] }, 'data', { get: deeper })),
  ];
  for (const call of calls) assert.throws(call, isEndOfStack);
  assert.deepEqual([...rw.silu(x).data], [0, 0, 0, 0]);
});

test('a linear attention whose argument throws throws the same', async () => {
  const rw = await load();
  const x = { data: new Float32Array(4), shape: [2, 2] };
  const failing = Object.defineProperty({ shape: [2, 2] }, 'data', { get: () => assert.fail('mine') });
  for (const call of ['attention', 'linearAttention'])
    assert.throws(() => rw[call](x, failing, x), { message: 'mine' });
});

test('instances were lost on the way, and others went on', async () => {
  assert.ok(losses > 0);
  assert.deepEqual([...(await load()).tensor([2]).data()], [0, 0]);
});
