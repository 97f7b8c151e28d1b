// A stream of random numbers for tasks: xoshiro128** (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
// 2021), whose arithmetic on 32 bits is fast in JavaScript and the same on every engine. Not for cryptography.

/** @internal */
export class Random {
  readonly #state = new Uint32Array(4);

  /** Equal for the same numbers, which are below 2^53. */
  constructor(...seeds: readonly number[]) {
    // Each half of each seed goes into the state by a round of SplitMix32.
    let mixed = 0;
    const mix = (word: number) => {
      mixed = (mixed + word + 0x9e3779b9) | 0;
      let z = mixed;
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
      return (z ^ (z >>> 16)) >>> 0;
    };
    for (const seed of seeds) mixed = mix(seed % 2 ** 32) ^ mix(Math.floor(seed / 2 ** 32));
    for (let i = 0; i < 4; ++i) this.#state[i] = mix(i);
  }

  /** A uniform number of 32 bits. */
  bits(): number {
    const s = this.#state;
    // By index: an array pattern would iterate.
    const [a, b, c, d] = [s[0] as number, s[1] as number, s[2] as number, s[3] as number];
    const x = Math.imul(b, 5);
    const result = Math.imul((x << 7) | (x >>> 25), 9) >>> 0;
    const [third, fourth] = [c ^ a, d ^ b];
    s[0] = a ^ fourth;
    s[1] = b ^ third;
    s[2] = third ^ (b << 9);
    s[3] = (fourth << 11) | (fourth >>> 21);
    return result;
  }

  /** A uniform number in [0, 1). */
  share(): number {
    return this.bits() * 2 ** -32;
  }

  /** A uniform integer from 0 to n - 1; n is far below 2^32. */
  below(n: number): number {
    return Math.floor(this.share() * n);
  }

  /** A number of mean 0 and variance 1, normally distributed but for its far tails: needs no function that engines round. */
  normal(): number {
    let sum = -6;
    for (let i = 0; i < 12; ++i) sum += this.share();
    return sum;
  }

  /** The numbers 0 .. n - 1 in random order, the first `count` of them. */
  distinct(n: number, count: number): number[] {
    const all = Array.from({ length: n }, (_, i) => i);
    for (let i = 0; i < count; ++i) {
      const j = i + this.below(n - i);
      [all[i], all[j]] = [all[j] as number, all[i] as number];
    }
    return all.slice(0, count);
  }
}
