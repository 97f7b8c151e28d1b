// A file some of whose tensors appear otherwise than they are stored: what a family's own file changes, derived from this.

import type { StoredArray } from '../../sources/numbers.js';
import type { WeightFile } from '../../sources/tensor-file.js';

/** Gives what the file has. @internal */
export class ChangedFile implements WeightFile {
  readonly names: readonly string[];
  readonly weightDtypes: readonly string[];
  protected readonly file: WeightFile;

  constructor(file: WeightFile, names = file.names) {
    this.names = names;
    this.weightDtypes = file.weightDtypes;
    this.file = file;
  }

  has(name: string): boolean {
    return this.file.has(name);
  }

  info(name: string): ReturnType<WeightFile['info']> {
    return this.file.info(name);
  }

  form(name: string): ReturnType<WeightFile['form']> {
    return this.file.form(name);
  }

  tensor(...given: Parameters<WeightFile['tensor']>): Promise<StoredArray> {
    return this.file.tensor(...given);
  }

  stream(...given: Parameters<WeightFile['stream']>): Promise<void> {
    return this.file.stream(...given);
  }

  failure(name: string | undefined, problem: string): ReturnType<WeightFile['failure']> {
    return this.file.failure(name, problem);
  }
}
