// Writes GGUF files, independently of the code that reads them.
import { blockSizes } from './blocks.mjs';

/** The numbers of ggml's types, with the weights and the bytes of a block. */
export const ggufTypes = {
  F32: [0, 1, 4],
  F16: [1, 1, 2],
  Q4_0: [2, ...blockSizes.q4_0],
  Q4_1: [3, ...blockSizes.q4_1],
  Q5_0: [6, ...blockSizes.q5_0],
  Q5_1: [7, ...blockSizes.q5_1],
  Q8_0: [8, ...blockSizes.q8_0],
  Q2_K: [10, 256, 84],
  Q4_K: [12, ...blockSizes.q4_k],
  Q5_K: [13, ...blockSizes.q5_k],
  Q6_K: [14, ...blockSizes.q6_k],
  I8: [24, 1, 1],
  I16: [25, 1, 2],
  I32: [26, 1, 4],
  I64: [27, 1, 8],
  F64: [28, 1, 8],
  BF16: [30, 1, 2],
};

const valueTypes = { u8: 0, i8: 1, u16: 2, i16: 3, u32: 4, i32: 5, f32: 6, bool: 7, str: 8, u64: 10, i64: 11, f64: 12 };
const writers = {
  u8: [1, 'setUint8'],
  i8: [1, 'setInt8'],
  u16: [2, 'setUint16'],
  i16: [2, 'setInt16'],
  u32: [4, 'setUint32'],
  i32: [4, 'setInt32'],
  f32: [4, 'setFloat32'],
  u64: [8, 'setBigUint64'],
  i64: [8, 'setBigInt64'],
  f64: [8, 'setFloat64'],
};

function number(type, value) {
  const [bytes, set] = writers[type];
  const out = new Uint8Array(bytes);
  new DataView(out.buffer)[set](0, bytes === 8 && type !== 'f64' ? BigInt(value) : value, true);
  return out;
}

/** Arrays of bytes one after the other. */
function joined(parts) {
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const utf8 = (value) => (typeof value === 'string' ? new TextEncoder().encode(value) : value);

const text = (value) => {
  const bytes = utf8(value);
  return joined([number('u64', bytes.length), bytes]);
};

function scalar(type, value) {
  if (type === 'str') return text(value);
  return type === 'bool' ? Uint8Array.of(value ? 1 : 0) : number(type, value);
}

// A value of the metadata: ['u32', 7], ['str', 'a'], [['f32'], [1, 2]] for an array.
function entry(key, [type, value]) {
  if (!Array.isArray(type)) return joined([text(key), number('u32', valueTypes[type]), scalar(type, value)]);
  const head = [text(key), number('u32', 9), number('u32', valueTypes[type[0]]), number('u64', value.length)];
  return joined([...head, ...Array.from(value, (each) => scalar(type[0], each))]);
}

const align = (at, alignment) => Math.ceil(at / alignment) * alignment;
const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/**
 * The bytes of a GGUF file.
 *
 * @param metadata { key: [type, value] }, types u8 ... f64, bool, str, and [type] for arrays.
 * @param tensors { name: { dtype, shape, data } }, shape outermost first; data is a typed array whose bytes are written.
 */
export function writeGguf(metadata, tensors, { version = 3, alignment = 32, padded = true } = {}) {
  const entries = Object.entries(tensors);
  const head = [utf8('GGUF'), number('u32', version), number('u64', entries.length)];
  head.push(number('u64', Object.keys(metadata).length), ...Object.entries(metadata).map((each) => entry(...each)));
  let at = 0;
  for (const [name, { dtype, shape, data }] of entries) {
    head.push(text(name), number('u32', shape.length), ...shape.toReversed().map((n) => number('u64', n)));
    head.push(number('u32', ggufTypes[dtype][0]), number('u64', at));
    at = align(at + data.byteLength, alignment);
  }
  const header = joined(head);
  const begin = align(header.length, alignment);
  const last = entries.at(-1)?.[1].data.byteLength ?? 0;
  const end = padded ? begin + at : begin + at - (align(last, alignment) - last);
  const file = new Uint8Array(entries.length === 0 ? header.length : end);
  file.set(header);
  at = begin;
  for (const [, { data }] of entries) {
    file.set(bytesOf(data), at);
    at = align(at + data.byteLength, alignment);
  }
  return file;
}
