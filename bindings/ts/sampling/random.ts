// Random numbers as a function of a seed and an index: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom
// number generators", 2014), whose n-th state is seed + (n + 1) γ. No state is kept between numbers, so interrupted
// work continues with the same numbers. Not for cryptography.

const gamma = 0x9e3779b97f4a7c15n;
const word = (value: bigint): bigint => BigInt.asUintN(64, value);

/** Number `index`, counted from 0, of a seed's sequence: 53 bits, in [0, 1). @internal */
export function randomAt(seed: number, index: number): number {
  let z = word(BigInt(seed) + (BigInt(index) + 1n) * gamma);
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return Number((z ^ (z >> 31n)) >> 11n) * 2 ** -53;
}
