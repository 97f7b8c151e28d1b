// SHA-256 of what the package computes, in any engine: of each output of vectors on the deterministic build, and of integer
// products of each build with weights in blocks.
import { load } from 'ropewalk';
import { blockSizes, randomBlocks } from '../ts/support/blocks.mjs';
import { inputsOf } from '../vectors/arrays.mjs';
import { operations } from '../vectors/operations/index.mjs';

async function sha256(bytes) {
  const hash = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// The digest of numbers of any type, exact in float64. NaN is one: an engine may choose its bits.
function ofNumbers(data) {
  const numbers = Float64Array.from(data, Number);
  const bits = new BigUint64Array(numbers.buffer);
  for (const [i, x] of numbers.entries()) if (Number.isNaN(x)) bits[i] = 0x7ff8000000000000n;
  return sha256(numbers.buffer);
}

async function ofVectors(rw, groups) {
  const parts = [];
  for (const { group, cases } of groups) {
    for (const { name, op, params, inputs } of cases) {
      let outputs = {};
      try {
        outputs = await operations[op](rw, params, inputsOf(inputs));
      } catch (error) {
        parts.push({ name: `${group} ${name}`, digest: error.name, message: error.message }); // engines may word it
      }
      for (const [key, { shape, data }] of Object.entries(outputs).sort(([a], [b]) => (a < b ? -1 : 1)))
        parts.push({ name: `${group} ${name} ${key} [${shape}]`, digest: await ofNumbers(data) });
    }
  }
  return parts;
}

// The numbers of a seed, from -1 to 1.
function randomNumbers(count, seed) {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

// One row, few and many; rows of weights that fill a panel and that do not; an input of one number far above the others.
async function ofProducts(rw) {
  const parts = [];
  for (const type of Object.keys(blockSizes)) {
    const [rows, inputs] = [203, 768];
    const weight = { type, data: randomBlocks(type, rows * inputs, 5), shape: [rows, inputs] };
    const linear = rw.linear({ weight });
    for (const count of [1, 3, 40]) {
      const data = randomNumbers(count * inputs, count);
      data[17] = 1e4;
      const { data: products } = linear.apply({ data, shape: [count, inputs] });
      parts.push({ name: `${type} ${count}`, digest: await ofNumbers(products) });
    }
    linear.dispose();
  }
  return parts;
}

/**
 * What was computed: { what, build, parts: [{ name, digest, message }] } each, with the name of a refusal's error as its
 * digest. Products on the relaxed build are there where the engine runs it.
 */
export async function digests(groups) {
  const deterministic = await load({ simd: 'deterministic' });
  const results = [
    { what: 'vectors', build: '', parts: await ofVectors(deterministic, groups) },
    { what: 'integer products', build: ', simd128', parts: await ofProducts(deterministic) },
  ];
  const fastest = await load();
  if (fastest.info().simd === 'relaxed')
    results.push({ what: 'integer products', build: ', relaxed', parts: await ofProducts(fastest) });
  return results;
}
