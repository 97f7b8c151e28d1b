// Encodes a build as steps from another, almost identical one: each step has some new bytes, which replace as many of
// the other build, and then a run copied from it. ts/load.ts decodes the steps.

const shortest = 12; // a shorter run is larger as a step than as new bytes

/** Three int32 for each step: new bytes, bytes of `base` to skip (or go back), bytes to copy; then all new bytes. */
export function stepsFrom(base, target) {
  const places = new Map(); // the first occurrence of every run of the shortest length
  for (let i = base.length - shortest; i >= 0; --i) places.set(base.toString('latin1', i, i + shortest), i);
  const steps = [];
  const own = [];
  let [at, next, counted] = [0, 0, 0]; // offset in target, offset in base after the last run, new bytes in steps so far
  const runFrom = (place) => {
    let length = 0;
    while (at + length < target.length && base[place + length] === target[at + length]) ++length;
    return length;
  };
  while (at < target.length) {
    const found = places.get(target.toString('latin1', at, at + shortest)) ?? next;
    const from = runFrom(found) > runFrom(next) ? found : next;
    const length = runFrom(from);
    if (length < shortest) {
      own.push(target[at]);
      at += 1;
      next += 1;
    } else {
      steps.push(own.length - counted, from - next, length);
      counted = own.length;
      at += length;
      next = from + length;
    }
  }
  steps.push(own.length - counted, 0, 0);
  return {
    count: steps.length / 3,
    bytes: Buffer.concat([Buffer.from(Int32Array.from(steps).buffer), Buffer.from(own)]),
  };
}
