// Reads the tensors of a file into their slots, in the order of the file's bytes. Matrices are packed slice by slice,
// so memory holds the packed weights and one slice.

import * as enums from '../enums.js';
import { type Keeping, sliceBytes, unfitProblem, type WeightType } from '../layers/weights.js';
import type { Heap } from '../runtime/heap.js';
import { SequentialRead } from '../sources/cursor.js';
import type { ReadOptions, WeightFile } from '../sources/tensor-file.js';
import { type Destination, isMatrix, type MatrixSlot, type Run } from './description/slots.js';

// Types of vectors; others are read as float32.
const vectorTypes: Readonly<Record<string, WeightType>> = { F16: 'float16', BF16: 'bfloat16' };

/** @internal */
export interface Filling {
  readonly heap: Heap;
  readonly where: string;
  readonly keeping: Keeping;
}

/** Reads every tensor of `destinations`. If it throws, the caller frees the slots. @internal */
export async function fillSlots(
  filling: Filling,
  file: WeightFile,
  destinations: ReadonlyMap<string, Destination>,
  { signal, onProgress }: ReadOptions,
): Promise<void> {
  const sequence = new SequentialRead();
  const total = [...destinations.keys()].reduce((sum, name) => sum + file.info(name).byteLength, 0);
  let before = 0;
  try {
    for (const name of file.names) {
      const destination = destinations.get(name);
      if (destination === undefined) continue;
      const options = {
        ...(signal !== undefined && { signal }),
        ...(onProgress !== undefined && {
          onProgress: ({ loaded }: { loaded: number }) => onProgress({ loaded: before + loaded, total, name }),
        }),
      };
      const fill = destination.runs.every(({ slot }) => isMatrix(slot)) ? fillMatrices : fillVectors;
      await fill(filling, file, name, destination, [options, sequence]);
      before += file.info(name).byteLength;
    }
  } finally {
    await sequence.close();
  }
}

type Read = readonly [options: ReadOptions, sequence: SequentialRead];

async function fillVectors(
  _: Filling,
  file: WeightFile,
  name: string,
  { shape, runs }: Destination,
  [options, sequence]: Read,
): Promise<void> {
  const [, columns = 1] = shape;
  const type = vectorTypes[file.info(name).dtype];
  const asked = type === undefined ? ({ ...options, as: 'float32' } as const) : options;
  const data = (await file.tensor(name, asked, sequence)) as Float32Array | Uint16Array;
  const Kind = data.constructor as { new (length: number): Float32Array | Uint16Array };
  let row = 0;
  for (const { slot, first, count } of runs) {
    if (isMatrix(slot)) continue;
    slot.data ??= new Kind(slot.rows * columns);
    slot.type = type ?? 'float32';
    slot.data.set(data.subarray(row * columns, (row + count) * columns), first * columns);
    row += count;
  }
}

function allocated({ heap, where, keeping }: Filling, slot: MatrixSlot, type: number): MatrixSlot['packed'] {
  if (slot.packed !== undefined) return slot.packed;
  const matrix = heap.construct(where, (core) => new core.PackedMatrix());
  slot.packed = matrix;
  heap.run(where, () => matrix.allocate(slot.rows, slot.columns, keeping.stored ?? type, keeping.inFloats));
  return matrix;
}

async function fillMatrices(
  filling: Filling,
  file: WeightFile,
  name: string,
  { shape, runs }: Destination,
  read: Read,
): Promise<void> {
  const { heap, where } = filling;
  const [rows = 0, columns = 0] = shape;
  const { weightType: type = enums.WeightType.float32, bytes, count } = file.form(name);
  for (const { slot } of runs) if (isMatrix(slot)) allocated(filling, slot, type);
  const rowBytes = (columns / count) * bytes;
  const size = rowBytes * Math.min(rows, Math.max(1, Math.floor(sliceBytes / rowBytes)));
  const slice = heap.allocate(size, where);
  const flush = packer(filling, file, name, { runs, type, rowBytes, slice });
  let filled = 0;
  try {
    const fill = (piece: Uint8Array) => {
      for (let at = 0; at < piece.length; ) {
        const part = piece.subarray(at, at + size - filled);
        heap.write(slice + filled, part);
        at += part.length;
        filled += part.length;
        if (filled < size) continue;
        flush(filled);
        filled = 0;
      }
    };
    await file.stream(name, fill, ...read);
    flush(filled);
  } finally {
    heap.release(slice);
  }
}

interface Packing {
  readonly runs: readonly Run[];
  readonly type: number;
  readonly rowBytes: number;
  readonly slice: number;
}

// Gives a function that packs the first rows of the slice into their slots, in the order of the runs.
function packer({ heap, where, keeping }: Filling, file: WeightFile, name: string, packing: Packing) {
  const { runs, type, rowBytes, slice } = packing;
  let [run, done] = [0, 0]; // the run being filled, and the number of its rows that are
  return (bytes: number) => {
    for (let row = 0, rows = bytes / rowBytes; row < rows; ) {
      const { slot, first, count } = runs[run] as Run;
      const matrix = (slot as MatrixSlot).packed as NonNullable<MatrixSlot['packed']>;
      const now = Math.min(rows - row, count - done);
      const at = slice + row * rowBytes;
      heap.run(
        where,
        () => matrix.packRows(first + done, now, type, at),
        () => file.failure(name, unfitProblem(keeping.stored ?? type)),
      );
      row += now;
      done += now;
      if (done === count) [run, done] = [run + 1, 0];
    }
  };
}
