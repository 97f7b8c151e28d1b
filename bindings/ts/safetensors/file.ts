/// <reference lib="esnext.disposable" preserve="true" />
// An open safetensors file, or the files of one model.
import { SafetensorsError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type NumberForm, plainForms } from '../sources/numbers.js';
import { type Entry, type FileFormat, TensorFile } from '../sources/tensor-file.js';
import type { SafetensorsDtype } from './header.js';

const bytesOnly: NumberForm = { bytes: 1, count: 1 };

/** @internal */
export const safetensorsFormat: FileFormat<SafetensorsDtype> = {
  name: 'safetensors',
  Failure: SafetensorsError,
  forms: {
    ...plainForms,
    BOOL: { bytes: 1, count: 1, array: Uint8Array },
    U8: { bytes: 1, count: 1, array: Uint8Array },
    U16: { bytes: 2, count: 1, array: Uint16Array },
    U32: { bytes: 4, count: 1, array: Uint32Array },
    U64: { bytes: 8, count: 1, array: BigUint64Array },
    C64: bytesOnly,
    F8_E5M2: bytesOnly,
    F8_E4M3: bytesOnly,
    F8_E8M0: bytesOnly,
    F8_E4M3FNUZ: bytesOnly,
    F8_E5M2FNUZ: bytesOnly,
    F6_E2M3: bytesOnly,
    F6_E3M2: bytesOnly,
    F4: bytesOnly,
  },
};

/**
 * An open safetensors file. It holds only the header; each read fetches the bytes that it needs.
 *
 * @example
 * const file = await openSafetensors(rw, 'https://example.org/model.safetensors');
 * for (const name of file.names) console.log(name, file.info(name).dtype, file.info(name).shape);
 * using weight = rw.tensor(file.info('lm_head.weight').shape);
 * await file.readInto('lm_head.weight', weight);
 */
export class Safetensors extends TensorFile<SafetensorsDtype> {
  /** The header's `__metadata__`; for several files, the entries on which all agree. */
  readonly metadata: ReadonlyMap<string, string>;

  /** @internal */
  constructor(
    heap: Heap,
    entries: ReadonlyMap<string, Entry<SafetensorsDtype>>,
    metadata: ReadonlyMap<string, string>,
    file: string,
  ) {
    super(heap, safetensorsFormat, entries, file);
    this.metadata = metadata;
  }
}
