// Upper limits for kernels: multiply-adds in registers, and copying or reading as many bytes as a work does. Beside the
// copies, what packing weights as a model is loaded comes to.

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

// A type's number (src/kernels/weight_type.h) and the bytes of a weight. Read and written are counted, as with copies.
const packed = { float32: [0, 4], bfloat16: [2, 2], q4_0: [4, 18 / 32], q8_0: [8, 34 / 32], q4_k: [9, 144 / 256] };
const pack = (type, rows, inputs) => ({
  id: `pack ${type} ${rows}x${inputs}`,
  title: `packing ${rows} x ${inputs} weights in ${type}`,
  operation: 'pack',
  sizes: { rows, inputs, type: packed[type][0] },
  bytes: 2 * packed[type][1] * rows * inputs,
});
const packs = Object.keys(packed).flatMap((type) => [pack(type, 576, 1536), pack(type, 4096, 4096)]);

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

const reads = [read(512, 512), read(768, 3072)];

/** `limit`: only contenders that have it are listed, and there is no reference. */
export const works = [peak, ...integers, copy(mebi), copy(64 * mebi), ...packs, ...reads].map((work) => ({
  ...work,
  limit: true,
  inputs: () => ({}),
  reference: () => ({ indices: [], values: [] }),
}));
