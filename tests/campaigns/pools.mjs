// npm run soak -- pools [COUNT]: instances with threads, one after the other, that are lost in each way there is (1000 unless
// told). Each gives the bits of the first before; then every call on it says that it is lost, its workers end, and once warm
// neither instances nor workers stay in memory.
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { InstanceLostError } from 'ropewalk';
import { load } from 'ropewalk/threads';
import { atEndOfStack, isEndOfStack } from '../ts/support/dive.mjs';
import { enableRelaxed } from '../vectors/builds.mjs';

const x = { data: Float32Array.from({ length: 2 ** 16 }, (_, i) => Math.sin(i)), shape: [64, 1024] };
const support = (name) => new URL(`../ts/support/${name}`, import.meta.url);
const threadFile = new URL('../../dist/thread.js', import.meta.url);

// Calls until one of them finds the instance lost. That a worker has ended is told between calls, or by none of them.
function untilLost(rw, most = Number.POSITIVE_INFINITY) {
  for (let call = 0; call < most; ++call) {
    try {
      rw.softmax(x);
    } catch (error) {
      assert.ok(error instanceof InstanceLostError, error.stack);
      return;
    }
  }
}

function endWithin(rw, [worker]) {
  worker.terminate();
  untilLost(rw, 20);
}

function endOfStack(rw) {
  for (let frames = 0; frames < 1000; frames += 3) {
    try {
      atEndOfStack(frames, () => rw.softmax(x));
      return; // too much room was left
    } catch (error) {
      if (error instanceof InstanceLostError) return;
      assert.ok(isEndOfStack(error), error.stack);
    }
  }
}

// What its workers run, and what loses an instance; it may be that the last one loses none, where its calls find room.
const ways = {
  'a worker that ends between calls': [threadFile, (_, [worker]) => worker.terminate()],
  'a worker that ends within calls': [threadFile, endWithin],
  'a thread that traps': [support('thread-without-stack.mjs'), (rw) => untilLost(rw)],
  'a share that is never done': [support('impatient-thread.mjs'), (rw) => untilLost(rw)],
  'the end of the stack': [threadFile, endOfStack],
};

/** Loses so many; gives what went wrong. */
export async function pools(count) {
  if (!enableRelaxed()) return ['this Node has no relaxed SIMD, which the build with threads needs'];
  const faults = [];
  const all = Object.entries(ways);
  const lostBy = new Map(all.map(([name]) => [name, 0]));
  const held = { instances: new Set(), workers: new Set() }; // weakly
  let bits;

  async function lose(i) {
    const [name, [file, work]] = all[i % all.length];
    const workers = [];
    const worker = () => {
      workers.push(new Worker(file));
      held.workers.add(new WeakRef(workers.at(-1)));
      return workers.at(-1);
    };
    const rw = await load({ threads: 3, worker });
    held.instances.add(new WeakRef(rw));
    assert.equal(rw.info().threads, 3, rw.info().why);
    if (file === threadFile) {
      const found = Buffer.from(rw.softmax(x).data.buffer).toString('base64');
      bits ??= found;
      if (found !== bits) faults.push(`${i}: other bits`);
    }
    const exits = workers.map((each) => new Promise((resolve) => each.once('exit', resolve)));
    work(rw, workers);
    const isLost = () => {
      try {
        rw.memory();
        return false;
      } catch (error) {
        assert.ok(error instanceof InstanceLostError, error.stack);
        return true;
      }
    };
    // That a worker has ended is told by its event, that a call ran out of stack by the call.
    if (name !== 'the end of the stack') await Promise.all(exits);
    if (isLost()) lostBy.set(name, lostBy.get(name) + 1);
    else if (name === 'the end of the stack') rw.dispose();
    else faults.push(`${i}: ${name}: not lost`);
    await Promise.all(exits);
  }

  const living = async (weak) => {
    for (let turn = 0; turn < 3; ++turn) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      globalThis.gc?.();
    }
    return [...weak].filter((each) => each.deref() !== undefined).length;
  };
  const residentMiB = () => Math.round(process.memoryUsage.rss() / 2 ** 20);
  const warm = Math.max(2 * all.length, Math.ceil(count / 10));
  for (let i = 0; i < warm; ++i) await lose(i);
  const before = [await living(held.instances), await living(held.workers)];
  const resident = residentMiB();
  for (let i = 0; i < count; ++i) await lose(i);
  const after = [await living(held.instances), await living(held.workers)];
  for (const [name, lost] of lostBy) {
    console.log(`${name.padEnd(42)}${String(lost).padStart(6)} lost`);
    if (lost === 0) faults.push(`${name}: none was lost`);
  }
  console.log(`instances and workers in memory: ${before} warm, ${after} after ${count} more`);
  console.log(`resident: ${resident} MiB warm, ${residentMiB()} MiB after`);
  if (after.some((living, i) => living > before[i])) faults.push(`in memory: ${before} before, ${after} after`);
  return faults;
}
