// Seeded numbers from -1 to 1 (mulberry32), the same as in tests/ts/support/arrays.mjs. That file imports node:assert,
// and this one also runs in a page.
export function random(length, seed) {
  let state = seed >>> 0;
  return Float32Array.from({ length }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}
