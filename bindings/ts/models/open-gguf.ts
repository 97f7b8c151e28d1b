// Opens a GGUF file from its source. The code that reads it is imported by the first call.

import type { Gguf } from '../gguf/file.js';
import type { OpenGgufOptions } from '../gguf/files.js';
import * as check from '../runtime/check.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import type { FileSource } from '../sources/open-source.js';
import { readKeys } from '../sources/tensor-file.js';

/**
 * Opens a GGUF file of version 2 or 3, or a split one by its first part. Reads only headers. The core checks them
 * completely: a file with a duplicate name, an overlap, a hole, or bytes missing is refused. From servers that support
 * ranges only the needed bytes are fetched; others send the whole file, which is read as a stream and not kept.
 *
 * @param rw the instance whose tensors `readInto` fills.
 * @param source bytes are not copied: they must stay unchanged until the file is closed.
 * @throws GgufError where a file cannot be read or is damaged; the reason of `signal`.
 *
 * @example
 * import { load } from 'ropewalk';
 * import { openGguf } from 'ropewalk/models';
 * const rw = await load();
 * using file = await openGguf(rw, 'https://example.org/model-Q8_0.gguf', { signal });
 * const weights = await file.tensor('output_norm.weight', { as: 'float32' });
 */
export async function openGguf(rw: Instance, source: FileSource, options: OpenGgufOptions = {}): Promise<Gguf> {
  const where = 'openGguf';
  const heap = heapOf(where, rw);
  const given = check.options(where, 'options', options, [...readKeys, 'fetch', 'part']);
  const { openFiles } = await import('./gguf.js');
  return openFiles(heap, where, 'source', source, given);
}
