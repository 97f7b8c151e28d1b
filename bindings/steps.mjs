// One build as steps from another that is almost the same: so many bytes of its own in place of as many of the other,
// then so many of the other, again and again. ts/load.ts takes the steps.

const shortest = 12; // a shorter run takes more room as a step than as bytes of its own

/** Three int32 a step: bytes of its own, bytes of `base` to pass by or to go back, bytes of `base`; then all its own. */
export function stepsFrom(base, target) {
  const places = new Map(); // of every run of the shortest length, the first
  for (let i = base.length - shortest; i >= 0; --i) places.set(base.toString('latin1', i, i + shortest), i);
  const steps = [];
  const own = [];
  let [at, next, counted] = [0, 0, 0]; // in the target, in the base behind the last run, of its own in steps
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
