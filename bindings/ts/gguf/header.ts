// Parses the header of a GGUF file. The core does the parsing and all checks; this file reads the values of the metadata
// from the bytes of the header and forms the messages of errors.
import * as calls from '../calls.js';
import type { GgufHeader } from '../core.mjs';
import * as enums from '../enums.js';
import type * as check from '../runtime/check.js';
import { checkStatus, GgufError, stated } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import type { Own, OwnBytes, OwnDoubles, OwnFloats, OwnIntegers } from '../runtime/typed-arrays.js';
import type { HeaderTensor } from '../sources/opening.js';

/** The type of a tensor's weights in a GGUF file, by ggml's names. */
export type GgufDtype =
  | ('F32' | 'F16' | 'BF16' | 'F64' | 'I8' | 'I16' | 'I32' | 'I64')
  | ('Q4_0' | 'Q4_1' | 'Q5_0' | 'Q5_1' | 'Q8_0' | 'Q8_1' | 'Q2_K' | 'Q3_K' | 'Q4_K' | 'Q5_K' | 'Q6_K' | 'Q8_K')
  | ('IQ1_S' | 'IQ1_M' | 'IQ2_XXS' | 'IQ2_XS' | 'IQ2_S' | 'IQ3_XXS' | 'IQ3_S' | 'IQ4_NL' | 'IQ4_XS')
  | ('TQ1_0' | 'TQ2_0' | 'MXFP4' | 'NVFP4' | 'Q1_0' | 'Q2_0');

/** A value of the metadata: 64-bit integers are bigint, arrays of numbers are typed arrays. */
export type GgufValue =
  | number
  | bigint
  | boolean
  | string
  | readonly string[]
  | readonly boolean[]
  | OwnBytes
  | Own<Int8ArrayConstructor>
  | Own<Uint16ArrayConstructor>
  | Own<Int16ArrayConstructor>
  | Own<Uint32ArrayConstructor>
  | OwnIntegers
  | Own<BigUint64ArrayConstructor>
  | Own<BigInt64ArrayConstructor>
  | OwnFloats
  | OwnDoubles;

const dtypes: check.Choices<GgufDtype, typeof enums.GgufType> = enums.GgufType;

/** @internal */
export interface Header {
  readonly version: number;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** In the order of their bytes. */
  readonly tensors: readonly HeaderTensor<GgufDtype>[];
}

const where = 'openGguf';

// ignoreBOM keeps a U+FEFF at the beginning of a text.
const utf8 = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true });
// A copy: browsers decode no shared memory, which is that of an instance with threads.
const textOf = (bytes: Uint8Array) => utf8.decode(bytes.slice());

type Words = (wanted: number, found: number) => string;
const reasons: Readonly<Record<keyof typeof enums.GgufReason, Words>> = {
  none: () => 'is refused',
  more: () => 'goes on',
  magic: () => 'does not begin with "GGUF": not a GGUF file',
  version: (_, found) => `has version ${found}; expected 2 or 3`,
  bigEndian: () => 'is big-endian; expected a little-endian file',
  headerTooLong: (wanted) => `has a header of more than ${wanted} bytes: damaged`,
  headerPastEnd: (wanted, found) => `is cut: its header needs ${wanted} more bytes where there are ${found}`,
  entryCount: (wanted, found) => `says it has ${stated(found)} entries of metadata; it has room for ${wanted}`,
  tensorCount: (wanted, found) => `says it has ${stated(found)} tensors; it has room for ${wanted}`,
  textPastEnd: (wanted, found) => `holds a text of ${stated(wanted)} bytes where ${found} are left`,
  arrayPastEnd: (wanted, found) => `is an array of ${stated(wanted)} values where there is room for ${found}`,
  notUtf8: () => 'holds a text that is not UTF-8',
  emptyKey: () => 'has an entry of metadata without a key',
  duplicate: () => 'is the second of its name',
  valueType: (wanted, found) => `has a value of type ${found}; expected a type below ${wanted}`,
  nestedArray: () => 'is an array of arrays; expected numbers or texts',
  bool: (_, found) => `holds a bool of ${found}; expected 0 or 1`,
  alignmentType: () => 'is no uint32',
  alignmentSize: (_, found) => `is ${found}; expected a power of 2`,
  rank: (wanted, found) => `has ${found} dimensions; expected at most ${wanted}`,
  shape: (_, found) => `has a dimension of ${stated(found)}, more than any file holds`,
  tensorType: (_, found) => `has type ${found}, which the format does not have`,
  block: (wanted, found) => `has rows of ${found} weights, which are no whole blocks of ${wanted}`,
  size: () => 'has more weights than any file',
  offset: (wanted, found) => `has the offset ${found}, which is no multiple of the alignment ${wanted}`,
  overlap: (wanted, found) => `begins at byte ${found}, within another tensor, whose padding ends at ${wanted}`,
  hole: (wanted, found) => `begins at byte ${found} and leaves a hole after ${wanted}`,
  dataPastEnd: (wanted, found) => `is cut: it ends at byte ${wanted} of a file of ${found}`,
};

/**
 * Parses the header in the first `size` bytes of a file, at an address of the heap. Gives a number where that is not all of
 * it: how many bytes are needed at least.
 * @internal
 */
export function parseHeader(
  heap: Heap,
  file: string,
  pointer: number,
  size: number,
  fileBytes: number | undefined,
): Header | number {
  const header = heap.construct(where, (core) => new core.GgufHeader());
  try {
    return heap.scope(where, (scratch) => {
      const out = scratch(calls.GgufFault.doubles * 8);
      const status = heap.call(() => header.parse(pointer, size, fileBytes ?? -1, out));
      if (status === 0) return contents(heap, header, pointer, size);
      const { reason, at, nameAt, nameBytes, inTensor, wanted, found } = heap.readResult(calls.GgufFault, out);
      if (reason === enums.GgufReason.none) checkStatus(status, where);
      if (reason === enums.GgufReason.more) return wanted;
      const words = reasons[enums.nameOf(enums.GgufReason, reason) ?? 'none'];
      const name = nameBytes === 0 ? undefined : textOf(heap.bytes(pointer + nameAt, nameBytes));
      const problem = `${words(wanted, found)} (byte ${at} of the file)`;
      throw new GgufError(file, inTensor ? name : undefined, problem, inTensor ? {} : { key: name });
    });
  } finally {
    heap.destroy(header);
  }
}

function contents(heap: Heap, header: GgufHeader, pointer: number, size: number): Header {
  return heap.scope(where, (scratch) => {
    const entry = scratch(calls.GgufEntry.doubles * 8);
    const tensor = scratch((calls.GgufTensor.doubles + 4) * 8);
    const metadata = new Map<string, GgufValue>();
    for (let i = 0, n = heap.call(() => header.entryCount); i < n; ++i) {
      heap.call(() => header.entry(i, entry));
      const { key, keyBytes, ...value } = heap.readResult(calls.GgufEntry, entry);
      metadata.set(textOf(heap.bytes(key, keyBytes)), readValue(heap.bytes(pointer, size), value));
    }
    const tensors = Array.from({ length: heap.call(() => header.size) }, (_, i) => {
      heap.call(() => header.tensor(i, tensor));
      const { name, nameBytes, type, rank, begin, end } = heap.readResult(calls.GgufTensor, tensor);
      return {
        name: textOf(heap.bytes(name, nameBytes)),
        dtype: enums.nameOf(dtypes, type) ?? 'F32',
        shape: Object.freeze([...heap.readDoubles(tensor + calls.GgufTensor.doubles * 8, rank)]),
        begin,
        end,
      };
    });
    return { version: heap.call(() => header.version), metadata, tensors };
  });
}

// The typed array of each type of numbers; that of bool holds 0 and 1.
const arrays = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  bool: Uint8Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} as const;

interface ValueAt {
  readonly type: number;
  /** Of an array; else the type. */
  readonly element: number;
  readonly count: number;
  /** Offset in the header of the first element. */
  readonly at: number;
}

function readValue(bytes: Uint8Array, { type, element, count, at }: ValueAt): GgufValue {
  const isArray = type === enums.GgufValueType.array;
  const name = enums.nameOf(enums.GgufValueType, element);
  if (name === 'string') {
    const texts = textsOf(bytes, count, at);
    return isArray ? texts : (texts[0] as string);
  }
  const Kind = arrays[name as keyof typeof arrays];
  const numbers = new Kind(bytes.slice(at, at + count * Kind.BYTES_PER_ELEMENT).buffer);
  if (name === 'bool') {
    // A third of the time of Array.from.
    const bools = ([] as unknown[]).map.call(numbers, Boolean) as boolean[];
    return isArray ? bools : (bools[0] as boolean);
  }
  return isArray ? numbers : (numbers[0] as number | bigint);
}

// A call of the decoder takes a microsecond, and there may be half a million tokens and merges: it is given all of them at
// once, with zeros in place of their lengths. The core has refused what is not UTF-8.
function textsOf(bytes: Uint8Array, count: number, first: number): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const ends: number[] = [];
  let end = first;
  for (let i = 0; i < count; ++i) {
    end += 8 + view.getUint32(end, true); // the header is shorter than 2^32
    ends.push(end - first);
  }
  const own = bytes.slice(first, end);
  let at = 0;
  // In code units of UTF-16.
  const sizes = ends.map((stop) => {
    let size = 8;
    own.fill(0, at, at + 8);
    for (at += 8; at < stop; ++at) {
      const byte = own[at] as number;
      size += byte >= 0xf0 ? 2 : Number(byte < 0x80 || byte >= 0xc0);
    }
    return size;
  });
  const whole = utf8.decode(own);
  let from = 0;
  return sizes.map((size) => {
    const text = whole.slice(from + 8, from + size);
    from += size;
    return text;
  });
}
