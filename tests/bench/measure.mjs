// Times several contenders at one work in alternation, so that other load on the machine affects all of them equally.
import { random } from './random.mjs';
import { errorOf } from './reference.mjs';

const shortest = 2; // ms that a sample lasts at least, by repeating the call; page timers tick in 0.1 ms
const awake = 50; // ms for which threads of a contender may spin on after a call
const steady = 30; // ms of a sample where threads are, which sleep before it and whose caches fill with the first calls
const samples = 3; // in each round, of calls that are shorter: a slice of time that others take hits one of them
const cold = 100; // ms from which on a call is too long for caches to matter
const patience = 2500; // ms that one contender's rounds may take together; slow ones get fewer rounds
const fewest = 3;

export function quantile(sorted, q) {
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export function summary(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    rounds: times.length,
  };
}

// ms per call, of `repeat` calls. Only what gives a promise is awaited: awaiting costs a turn of the event loop.
async function time(call, repeat) {
  const start = performance.now();
  for (let i = 0; i < repeat; ++i) {
    const answer = call();
    if (answer instanceof Promise) await answer;
  }
  return (performance.now() - start) / repeat;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// ms per call at best, of samples that the clock can tell apart: at least five and a tenth of a second, or a slow one.
async function burst(call) {
  const start = performance.now();
  let best = Number.POSITIVE_INFINITY;
  let repeat = 1;
  for (let samples = 1; ; ++samples) {
    const taken = await time(call, repeat);
    if (taken * repeat < 1) repeat *= 2;
    else best = Math.min(best, taken);
    const spent = performance.now() - start;
    if (best < Number.POSITIVE_INFINITY && (spent > 600 || (spent > 100 && samples >= 5))) return best;
  }
}

// Runs until the code is optimized, which engines do in the background, and a busy machine late: three bursts at least,
// until two in a row are no faster than what was before.
async function warmUp(call) {
  const start = performance.now();
  let best = await burst(call);
  for (let idle = 0; idle < 2 && performance.now() - start < 4000; ) {
    await pause(20);
    const taken = await burst(call);
    idle = taken < 0.9 * best ? 0 : idle + 1;
    best = Math.min(best, taken);
  }
  return best;
}

// A native program times itself: its calls take a number of repetitions and give milliseconds.
async function runner({ call, timesItself }) {
  if (timesItself) {
    const once = await call(3);
    return { once, sample: call };
  }
  const once = await warmUp(call);
  return { once, sample: (repeat) => time(call, repeat) };
}

// Another order each round, so that nobody always comes first, or after the same one.
function shuffled(lanes, round) {
  const keys = random(lanes.length, round + 1);
  return lanes
    .map((lane, i) => [keys[i], lane])
    .sort(([a], [b]) => a - b)
    .map(([, lane]) => lane);
}

/**
 * Prepares `work` with each contender and times it. Gives { error, form, op, io } for each contender, with medians and
 * quartiles in ms, or { unavailable: reason }. threads: some contenders have them. Each then waits until those of the
 * others sleep, which would take processors from it.
 */
export async function measure(work, contenders, { rounds, paths = ['op', 'io'], threads = false }) {
  const least = threads ? steady : shortest;
  const inputs = work.inputs();
  const reference = work.reference(inputs);
  const results = {};
  const open = [];
  for (const contender of contenders) {
    const prepare = contender.operations[work.operation];
    try {
      const prepared = await prepare?.(work.sizes, inputs);
      if (!prepared) throw new Error('no such operation');
      open.push({ contender, prepared });
      const error = prepared.result && errorOf(await prepared.result(), reference);
      results[contender.id] = { error, form: prepared.form };
    } catch (error) {
      results[contender.id] = { unavailable: error.message.split('\n')[0].slice(0, 200) };
    }
  }
  const lanes = [];
  for (const { contender, prepared } of open) {
    if (results[contender.id].unavailable) continue;
    for (const path of paths.filter((name) => prepared[name])) {
      const run = await runner({ call: prepared[path], timesItself: contender.timesItself });
      const limit = Math.max(fewest, Math.floor(patience / Math.max(run.once, least)));
      const repeat = Math.max(1, Math.ceil(least / run.once));
      lanes.push({ result: results[contender.id], path, run, repeat, limit: Math.min(rounds, limit), times: [] });
    }
  }
  for (let round = 0; round < rounds; ++round) {
    for (const lane of shuffled(lanes, round)) {
      if (round >= lane.limit) continue;
      if (threads) await pause(awake);
      // Not counted: the last one may have left garbage to collect, and this one's memory out of the caches.
      if (lane.run.once < cold) await lane.run.sample(1);
      for (let i = 0; i < (lane.run.once < least ? samples : 1); ++i) {
        lane.times.push(await lane.run.sample(lane.repeat));
      }
    }
  }
  for (const { result, path, times } of lanes) result[path] = summary(times);
  for (const { prepared } of open) await prepared.close?.();
  return results;
}
