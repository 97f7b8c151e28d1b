// Parses the header of a file and the weight_map of an index. The core does the parsing and all checks; this file
// copies the bytes to the heap and forms the messages of errors.
import * as calls from '../calls.js';
import type { SafetensorsHeader, TextMap } from '../core.mjs';
import * as enums from '../enums.js';
import type * as check from '../runtime/check.js';
import { checkStatus, SafetensorsError, stated } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import type { HeaderTensor } from '../sources/opening.js';

/** The type of a tensor's numbers in a file. F8, F6, F4 and C64 have no typed array; they are read as bytes only. */
export type SafetensorsDtype =
  | ('BOOL' | 'U8' | 'I8' | 'I16' | 'U16' | 'F16' | 'BF16' | 'I32' | 'U32' | 'F32' | 'F64' | 'I64' | 'U64' | 'C64')
  | ('F8_E5M2' | 'F8_E4M3' | 'F8_E8M0' | 'F8_E4M3FNUZ' | 'F8_E5M2FNUZ' | 'F6_E2M3' | 'F6_E3M2' | 'F4');

const dtypes: check.Choices<SafetensorsDtype, typeof enums.SafetensorsDtype> = enums.SafetensorsDtype;

/** @internal */
export interface Header {
  /** In the order of their offsets. */
  readonly tensors: readonly HeaderTensor<SafetensorsDtype>[];
  readonly metadata: readonly (readonly [string, string])[];
  /** Size of the file, in bytes. */
  readonly end: number;
}

/** @internal */
export const lengthBytes = 8;
const where = 'openSafetensors';

// ignoreBOM keeps a U+FEFF at the beginning of a name.
const utf8 = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Words = (wanted: number, found: number) => string;
const notJson = 'is not JSON as the format wants it';
const reasons: Readonly<Record<keyof typeof enums.SafetensorsReason, Words>> = {
  none: () => 'is refused',
  tooShort: (_, found) => `has ${found} bytes, not even the 8 of a length: not a safetensors file`,
  headerTooLong: (wanted, found) =>
    `would have a header of ${stated(found)} bytes, more than ${wanted}: damaged, or not a safetensors file`,
  headerPastEnd: (wanted, found) => `is cut: the file has ${found} of the ${wanted} bytes of its header`,
  notUtf8: () => 'is not UTF-8',
  notAnObject: () => 'does not begin with "{": not a safetensors file',
  syntax: () => notJson,
  duplicate: () => 'is the second of its name',
  notText: () => 'is no object of strings',
  notATensor: () => 'is not described by an object',
  missing: () => 'is not described in full: a tensor needs dtype, shape and data_offsets',
  dtype: () => 'has a dtype that the format does not know',
  shape: () => 'has a shape that is no list of whole numbers',
  offsets: () => 'has data_offsets that are no two whole numbers in order',
  size: (wanted, found) =>
    wanted < 2 ** 62 ? `has ${found} bytes where its dtype and shape need ${wanted}` : 'has more numbers than any file',
  overlap: (wanted, found) => `begins at byte ${found}, within another tensor, which ends at ${wanted}`,
  hole: (wanted, found) => `begins at byte ${found} and leaves a hole after ${wanted}`,
  dataPastEnd: (wanted, found) => `is cut: the file has ${found} of the ${wanted} bytes up to its end`,
  dataLeft: (wanted, found) => `has ${found} bytes of data, ${found - wanted} of which no tensor covers`,
  partOfByte: (wanted) => `has a dtype and shape of ${wanted} bits, which are no whole number of bytes`,
};

// A copy: browsers decode no shared memory, which is that of an instance with threads.
function textAt(heap: Heap, pointer: number, bytes: number): string {
  return utf8.decode(heap.bytes(pointer, bytes).slice());
}

interface HeaderText {
  readonly heap: Heap;
  readonly file: string;
  /** Name of the text in errors. */
  readonly text: string;
  /** Address of the text in the heap; 0 for none. */
  readonly pointer: number;
}

// Throws unless the status is 0.
function checkFault({ heap, file, text, pointer }: HeaderText, status: number, fault: calls.SafetensorsFault): void {
  if (status === 0) return;
  const { reason, at, keyAt, keyBytes, wanted, found } = fault;
  if (reason === enums.SafetensorsReason.none) checkStatus(status, where);
  const noMap = text === 'index' && reason === enums.SafetensorsReason.missing;
  const words = reasons[enums.nameOf(enums.SafetensorsReason, reason) ?? 'none'];
  const problem = noMap ? 'has no weight_map: not the index of a model' : words(wanted, found);
  const key = keyBytes === 0 ? undefined : String(JSON.parse(textAt(heap, pointer + keyAt, keyBytes)));
  throw new SafetensorsError(file, key, pointer === 0 ? problem : `${problem} (byte ${at} of the ${text})`);
}

/** The length of the header, from the first 8 bytes of a file (fewer if it is shorter). @internal */
export function headerBytes(heap: Heap, file: string, first: Uint8Array, fileBytes: number | undefined): number {
  return heap.scope(where, (scratch) => {
    const pointer = heap.put(scratch, first);
    const out = scratch(calls.HeaderLength.doubles * 8);
    const status = heap.call((core) => core.safetensorsHeaderBytes(pointer, fileBytes ?? -1, out));
    const { bytes, fault } = heap.readResult(calls.HeaderLength, out);
    checkFault({ heap, file, text: 'file', pointer: 0 }, status, fault);
    return bytes;
  });
}

/**
 * Parses the header at the address `pointer`; `dataBytes` is undefined where the size of the file is unknown.
 * @internal
 */
export function parseHeader(
  heap: Heap,
  file: string,
  pointer: number,
  bytes: number,
  dataBytes: number | undefined,
): Header {
  const header = heap.construct(where, (core) => new core.SafetensorsHeader());
  try {
    return heap.scope(where, (scratch) => {
      const out = scratch(calls.SafetensorsFault.doubles * 8);
      const status = heap.call(() => header.parse(pointer, bytes, dataBytes ?? -1, out));
      checkFault({ heap, file, text: 'file', pointer }, status, heap.readResult(calls.SafetensorsFault, out));
      return contents(heap, file, header, lengthBytes + bytes);
    });
  } finally {
    heap.destroy(header);
  }
}

function contents(heap: Heap, file: string, header: SafetensorsHeader, dataBegin: number): Header {
  return heap.scope(where, (scratch) => {
    const out = scratch(calls.SafetensorsTensor.doubles * 8);
    const count = heap.call(() => header.size);
    const tensors = Array.from({ length: count }, (_, i): HeaderTensor<SafetensorsDtype> => {
      heap.call(() => header.tensor(i, out));
      const { name: nameAt, nameBytes, dtype, rank, begin, end } = heap.readResult(calls.SafetensorsTensor, out);
      const name = textAt(heap, nameAt, nameBytes);
      // A header of 100 MB has room for 40 million, which take half a minute and 3 GB.
      if (rank > 64) throw new SafetensorsError(file, name, `has ${rank} dimensions; expected at most 64`);
      const shape = heap.scope(where, (scratchOfShape) => {
        const sizes = scratchOfShape(8 * rank);
        heap.call(() => header.shape(i, sizes));
        return Object.freeze([...heap.readDoubles(sizes, rank)]);
      });
      return {
        name,
        dtype: enums.nameOf(dtypes, dtype) ?? 'U8',
        shape,
        begin: dataBegin + begin,
        end: dataBegin + end,
      };
    });
    const pairs = heap.call(() => header.metadataSize);
    const metadata = pairsOf(heap, pairs, (i, pair) => header.metadata(i, pair));
    return { tensors, metadata, end: tensors.at(-1)?.end ?? dataBegin };
  });
}

function pairsOf(heap: Heap, count: number, write: (i: number, out: number) => void): (readonly [string, string])[] {
  return heap.scope(where, (scratch) => {
    const out = scratch(calls.TextPair.doubles * 8);
    return Array.from({ length: count }, (_, i) => {
      heap.call(() => write(i, out));
      const { key, keyBytes, value, valueBytes } = heap.readResult(calls.TextPair, out);
      return [textAt(heap, key, keyBytes), textAt(heap, value, valueBytes)] as const;
    });
  });
}

/** Parses the index at the address `pointer`: pairs of tensor and file. @internal */
export function parseWeightMap(
  heap: Heap,
  file: string,
  pointer: number,
  bytes: number,
): (readonly [string, string])[] {
  const map: TextMap = heap.construct(where, (core) => new core.TextMap());
  try {
    return heap.scope(where, (scratch) => {
      const out = scratch(calls.SafetensorsFault.doubles * 8);
      const status = heap.call(() => map.readWeightMap(pointer, bytes, out));
      checkFault({ heap, file, text: 'index', pointer }, status, heap.readResult(calls.SafetensorsFault, out));
      const count = heap.call(() => map.size);
      return pairsOf(heap, count, (i, pair) => map.pair(i, pair));
    });
  } finally {
    heap.destroy(map);
  }
}
