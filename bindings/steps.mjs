// Encodes a build as steps from another, almost identical one. A step has some new bytes and then a run copied from the
// other build, of which single bytes are changed afterwards: local variables have other numbers in a function with other
// instructions. ts/load.ts decodes the steps.

const shortest = 12; // bytes that a run begins with, equal in both
const cost = 1.5; // of a changed byte, where an equal one gains 1
const patience = 20; // a run ends where it has lost so much

/** Seven bits in each byte, the lowest first; the highest bit tells that more follow. */
function varint(number) {
  return number < 128 ? [number] : [(number & 127) | 128, ...varint(number >>> 7)];
}

/**
 * The steps to `target`, and how many steps and changes they are. Three columns with a number for each step: new bytes;
 * bytes of `base` to skip, doubled, or to go back, doubled less one; bytes to copy. Then the distance in `target` of each
 * changed byte from the one before, all these as varints; the changed bytes; the new bytes.
 */
export function stepsFrom(base, target) {
  const places = new Map(); // the first occurrence of every run of the shortest length
  for (let i = base.length - shortest; i >= 0; --i) places.set(base.toString('latin1', i, i + shortest), i);

  // The run from a place of base: what it gains, and its length.
  const runFrom = (place, at) => {
    let [gain, best, length] = [0, 0, 0];
    for (let i = 0; at + i < target.length && place + i < base.length && gain > best - patience; ++i) {
      gain += base[place + i] === target[at + i] ? 1 : -cost;
      if (gain > best) [best, length] = [gain, i + 1];
    }
    return { place, gain: best, length };
  };

  const columns = { added: [], skipped: [], copied: [], distances: [] };
  const [changed, own] = [[], []];
  let [at, next, added, last] = [0, 0, 0, 0]; // offset in target, offset in base, new bytes of this step, last change
  while (at < target.length) {
    const found = places.get(target.toString('latin1', at, at + shortest));
    const runs = [runFrom(next, at), ...(found === undefined ? [] : [runFrom(found, at)])];
    const { place, gain, length } = runs.reduce((a, b) => (b.gain > a.gain + 3 ? b : a)); // going elsewhere costs
    if (gain < 4) {
      own.push(target[at]);
      [at, next, added] = [at + 1, next + 1, added + 1];
      continue;
    }
    const skip = place - next;
    columns.added.push(added);
    columns.skipped.push(skip < 0 ? -2 * skip - 1 : 2 * skip);
    columns.copied.push(length);
    for (let i = 0; i < length; ++i) {
      if (base[place + i] === target[at + i]) continue;
      columns.distances.push(at + i - last);
      changed.push(target[at + i]);
      last = at + i;
    }
    [at, next, added] = [at + length, place + length, 0];
  }
  columns.added.push(added);
  columns.skipped.push(0);
  columns.copied.push(0);
  const numbers = Object.values(columns).flat().flatMap(varint);
  return { steps: columns.added.length, changes: changed.length, bytes: Buffer.from([...numbers, ...changed, ...own]) };
}
