// The calls that npm run soak repeats, in Node and in a page.
import { load } from 'ropewalk';
import { attempt, makeCalls } from '../ts/support/calls.mjs';
import { atEndOfStack, isEndOfStack } from '../ts/support/dive.mjs';

// load() of each instance compiles nothing anew, but is slow; a file that is not there is not opened.
const rare = (name) => (name === 'load' ? 100 : /^(cached|storedFiles)$/.test(name) ? 1000 : Number.POSITIVE_INFINITY);

/** Loses an instance by a call at the end of the stack. Tells whether one was lost: a call may also find the stack too short. */
async function lose() {
  const rw = await load();
  const plan = rw.rope({ headDim: 512 });
  const x = new Float32Array(512);
  for (let frames = 0; frames < 1000; frames += 3) {
    try {
      atEndOfStack(frames, () => plan.rotate(x));
      return false;
    } catch (error) {
      if (error.name === 'InstanceLostError') return true;
      if (!isEndOfStack(error)) throw error;
    }
  }
  throw new Error('no call came through');
}

/**
 * Every call whose name begins with `prefix` so many times, a tenth as often with an argument that nothing takes, then lost
 * instances. Writes a row of each, the last cell of which is what `extra` gives, and gives what went wrong.
 */
export async function soakCalls(calls, prefix, write, extra = () => '') {
  const all = await makeCalls();
  const faults = [];
  const memory = () =>
    [all.rw, all.trainers].flatMap((each) => Object.values((({ peak, ...rest }) => rest)(each.memory())));
  const row = (name, cells) => write(`${name.padEnd(42)}${cells.map((cell) => String(cell).padStart(12)).join('')}`);

  // Runs `call` `count` times after a tenth as many to get warm. Tells what has grown since.
  async function soak(name, count, call) {
    for (let i = 0; i < Math.max(count / 10, 30); ++i) await call();
    globalThis.gc?.();
    const before = memory();
    const start = performance.now();
    for (let i = 0; i < count; ++i) await call();
    const microseconds = ((performance.now() - start) / count) * 1000;
    globalThis.gc?.();
    const grown = memory().some((value, i) => value > before[i]);
    if (grown) faults.push(`${name}: ${before} to ${memory()}`);
    row(name, [count, microseconds.toFixed(1), grown ? 'GREW' : 'same', extra()]);
    await new Promise((resolve) => setTimeout(resolve)); // a page answers in between
  }

  row('call', ['calls', 'µs', 'memory', extra() === '' ? '' : 'resident']);
  for (const name of Object.keys(all.calls).filter((each) => each.startsWith(prefix))) {
    const count = Math.min(calls, rare(name));
    await soak(name, count, async () => {
      const { error } = await attempt(all, name);
      // A page has no folders.
      if (error !== undefined && error.argument !== 'folder') throw error;
    });
    if (all.calls[name][1]().length === 0) continue;
    await soak(`${name}, refused`, Math.ceil(count / 10), async () => {
      const { error } = await attempt(all, name, undefined, (_target, args) => [Symbol('no'), ...args.slice(1)]);
      if (error === undefined) faults.push(`${name}: took a symbol`);
    });
  }
  if ('lost instances'.startsWith(prefix)) {
    let lost = 0;
    await soak('lost instances', Math.max(1, Math.min(1000, calls / 10)), async () => {
      lost += await lose();
    });
    write(`${lost} lost`);
    if (lost === 0) faults.push('no instance was lost');
  }
  return faults;
}
