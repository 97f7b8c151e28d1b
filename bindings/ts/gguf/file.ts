/// <reference lib="esnext.disposable" preserve="true" />
// An open GGUF file, or the parts of one that is split.
import { WeightType } from '../enums.js';
import { GgufError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type NumberForm, plainForms } from '../sources/numbers.js';
import { type Entry, type FileFormat, TensorFile } from '../sources/tensor-file.js';
import type { GgufDtype, GgufValue } from './header.js';

const bytesOnly: NumberForm = { bytes: 1, count: 1, array: Uint8Array };

/** @internal */
export const ggufFormat: FileFormat<GgufDtype> = {
  name: 'gguf',
  Failure: GgufError,
  forms: {
    ...plainForms,
    Q4_0: { bytes: 18, count: 32, array: Uint8Array, weightType: WeightType.q4_0 },
    Q4_1: { bytes: 20, count: 32, array: Uint8Array, weightType: WeightType.q4_1 },
    Q5_0: { bytes: 22, count: 32, array: Uint8Array, weightType: WeightType.q5_0 },
    Q5_1: { bytes: 24, count: 32, array: Uint8Array, weightType: WeightType.q5_1 },
    Q8_0: { bytes: 34, count: 32, array: Uint8Array, weightType: WeightType.q8_0 },
    Q4_K: { bytes: 144, count: 256, array: Uint8Array, weightType: WeightType.q4_k },
    Q5_K: { bytes: 176, count: 256, array: Uint8Array, weightType: WeightType.q5_k },
    Q6_K: { bytes: 210, count: 256, array: Uint8Array, weightType: WeightType.q6_k },
    Q8_1: bytesOnly,
    Q2_K: bytesOnly,
    Q3_K: bytesOnly,
    Q8_K: bytesOnly,
    IQ1_S: bytesOnly,
    IQ1_M: bytesOnly,
    IQ2_XXS: bytesOnly,
    IQ2_XS: bytesOnly,
    IQ2_S: bytesOnly,
    IQ3_XXS: bytesOnly,
    IQ3_S: bytesOnly,
    IQ4_NL: bytesOnly,
    IQ4_XS: bytesOnly,
    TQ1_0: bytesOnly,
    TQ2_0: bytesOnly,
    MXFP4: bytesOnly,
    NVFP4: bytesOnly,
    Q1_0: bytesOnly,
    Q2_0: bytesOnly,
  },
};

/**
 * An open GGUF file. It holds only the header; each read fetches the bytes that it needs.
 *
 * @example
 * const file = await openGguf(rw, 'https://example.org/model-Q4_K_M.gguf');
 * console.log(file.metadata.get('general.architecture'));   // 'llama'
 * for (const name of file.names) console.log(name, file.info(name).dtype, file.info(name).shape);
 * const weights = await file.tensor('blk.0.attn_q.weight', { as: 'float32' });
 */
export class Gguf extends TensorFile<GgufDtype> {
  /** The entries of the header in its order; of a split file those of the first part. */
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** 2 or 3, as the file says. */
  readonly version: number;
  /** Its name in errors; of a split file, that of the first part. */
  readonly file: string;

  /** @internal */
  constructor(
    heap: Heap,
    entries: ReadonlyMap<string, Entry<GgufDtype>>,
    metadata: ReadonlyMap<string, GgufValue>,
    version: number,
    file: string,
  ) {
    super(heap, ggufFormat, entries, file);
    this.metadata = metadata;
    this.version = version;
    this.file = file;
  }
}
