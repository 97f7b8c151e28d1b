// Upper limits for kernels: multiply-adds in registers, and copying or reading as many bytes as a work does.

const mebi = 2 ** 20;

function copy(bytes) {
  return {
    id: `copy ${bytes / mebi} MiB`,
    title: `memory.copy of ${bytes / mebi} MiB`,
    operation: 'copy',
    sizes: { bytes },
    bytes: 2 * bytes,
  };
}

// As much as a weight matrix of a projection has.
function read(inputs, outputs) {
  const bytes = 4 * inputs * outputs;
  return {
    id: `read ${inputs}x${outputs}`,
    title: `reading ${inputs} x ${outputs} numbers`,
    operation: 'read',
    sizes: { bytes },
    bytes,
  };
}

const peak = {
  id: 'peak',
  title: 'multiply-adds in registers, four lanes, twelve accumulators',
  operation: 'peak',
  sizes: {},
  flops: 8 * 12 * Math.floor(mebi / 12),
};

// Of the integers of coded weights: the relaxed ones add two products in 16 bits, or four in 32.
const integers = Object.entries({ pairs: 8, nibbles: 16, bytes: 16 }).map(([kind, lanes]) => ({
  id: `peak ${kind}`,
  title: `products of integers in registers, ${kind}, twelve accumulators`,
  operation: 'peak',
  sizes: { kind },
  flops: 2 * lanes * 12 * Math.floor(mebi / 12),
}));

/** `limit`: only contenders that have it are listed, and there is no reference. */
export const works = [peak, ...integers, copy(mebi), copy(64 * mebi), read(512, 512), read(768, 3072)].map((work) => ({
  ...work,
  limit: true,
  inputs: () => ({}),
  reference: () => ({ indices: [], values: [] }),
}));
