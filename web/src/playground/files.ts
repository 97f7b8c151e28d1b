// Which of the files that a reader gave is what, and what is missing still.
import type { ModelFiles } from './bench';

export type Missing = 'config' | 'weights' | 'index';

const weightsName = /\.safetensors$/;
const indexName = /\.safetensors\.index\.json$/;
const otherNames = ['config.json', 'tokenizer.json', 'tokenizer_config.json'];

/** Whether a file may be a part of a model, by its name. */
export const isOfUse = ({ name }: File): boolean =>
  otherNames.includes(name) || weightsName.test(name) || indexName.test(name);

/** The files by their names. Of the same name the later one counts. */
export function sortFiles(files: readonly File[]): {
  readonly files?: ModelFiles;
  readonly missing: readonly Missing[];
} {
  const byName = new Map(files.map((file) => [file.name, file]));
  const config = byName.get('config.json');
  const tokenizer = byName.get('tokenizer.json');
  const tokenizerConfig = byName.get('tokenizer_config.json');
  const index = [...byName.values()].find(({ name }) => indexName.test(name));
  const weights = [...byName.values()].filter(({ name }) => weightsName.test(name));
  // Files such as model-00001-of-00003 belong to an index, which says what is in which.
  const whole = weights.filter(({ name }) => !/-\d+-of-\d+\.safetensors$/.test(name));
  const source = index ?? (whole.length === 1 ? whole[0] : undefined);
  const missing: Missing[] = [
    ...(config === undefined ? (['config'] as const) : []),
    ...(weights.length === 0 ? (['weights'] as const) : []),
    ...(weights.length > 0 && source === undefined ? (['index'] as const) : []),
  ];
  if (config === undefined || source === undefined || weights.length === 0) return { missing };
  const shards = Object.fromEntries(weights.map((file) => [file.name, file]));
  return {
    files: {
      config,
      weights: source,
      shards,
      ...(tokenizer && { tokenizer }),
      ...(tokenizerConfig && { tokenizerConfig }),
    },
    missing,
  };
}
