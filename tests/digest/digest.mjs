// SHA-256 of what the package computes, in any engine: a line each for all outputs of vectors on the deterministic build,
// and for integer products of each build with weights in blocks.
import { load } from 'ropewalk';
import { blockSizes, randomBlocks } from '../ts/support/blocks.mjs';
import { inputsOf } from '../vectors/arrays.mjs';
import { operations } from '../vectors/operations/index.mjs';

class Bytes {
  #parts = [];

  text(text) {
    this.#parts.push(new TextEncoder().encode(`${text}\n`));
  }

  /** Numbers of any type, exact in float64. NaN is one: an engine may choose its bits. */
  numbers(data) {
    const numbers = Float64Array.from(data, Number);
    const bits = new BigUint64Array(numbers.buffer);
    for (const [i, x] of numbers.entries()) if (Number.isNaN(x)) bits[i] = 0x7ff8000000000000n;
    this.#parts.push(new Uint8Array(numbers.buffer));
  }

  async sha256() {
    const hash = await crypto.subtle.digest('SHA-256', await new Blob(this.#parts).arrayBuffer());
    return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }
}

async function ofVectors(rw, groups) {
  const bytes = new Bytes();
  for (const { group, cases } of groups) {
    for (const { name, op, params, inputs } of cases) {
      bytes.text(`${group} ${name}`);
      let outputs = {};
      try {
        outputs = await operations[op](rw, params, inputsOf(inputs));
      } catch (error) {
        bytes.text(error.name); // of a refusal; messages may quote the engine
      }
      for (const [key, { shape, data }] of Object.entries(outputs).sort(([a], [b]) => (a < b ? -1 : 1))) {
        bytes.text(`${key} [${shape}]`);
        bytes.numbers(data);
      }
    }
  }
  return bytes.sha256();
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
  const bytes = new Bytes();
  for (const type of Object.keys(blockSizes)) {
    const [rows, inputs] = [203, 768];
    const weight = { type, data: randomBlocks(type, rows * inputs, 5), shape: [rows, inputs] };
    const linear = rw.linear({ weight });
    for (const count of [1, 3, 40]) {
      const data = randomNumbers(count * inputs, count);
      data[17] = 1e4;
      bytes.text(`${type} ${count}`);
      bytes.numbers(linear.apply({ data, shape: [count, inputs] }).data);
    }
    linear.dispose();
  }
  return bytes.sha256();
}

/** Lines of what was computed and its digest; the relaxed build has one where the engine runs it. */
export async function digests(groups) {
  const deterministic = await load({ simd: 'deterministic' });
  const lines = [
    `vectors ${await ofVectors(deterministic, groups)}`,
    `integer products, simd128 ${await ofProducts(deterministic)}`,
  ];
  const fastest = await load();
  if (fastest.info().simd === 'relaxed') lines.push(`integer products, relaxed ${await ofProducts(fastest)}`);
  return lines;
}
