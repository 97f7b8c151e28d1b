// Which of the files that a reader gave is what, and what is missing still or too much.
import type { ModelFiles } from './bench';

export type Missing = 'config' | 'weights' | 'index';

const weightsName = /\.safetensors$/;
const indexName = /\.safetensors\.index\.json$/;
const otherNames = ['config.json', 'tokenizer.json', 'tokenizer_config.json'];

/** Whether a file may be a part of a model, by its name. */
export const isOfUse = ({ name }: File): boolean =>
  otherNames.includes(name) || weightsName.test(name) || indexName.test(name);

/** Each once. Of the same name the later one counts. */
export const latestOf = (files: readonly File[]): File[] => [
  ...new Map(files.map((file) => [file.name, file])).values(),
];

/** The parts that an index names and that are not there; none where there is no index, or one that cannot be read. */
export async function absentParts({ weights, shards }: ModelFiles): Promise<string[]> {
  if (!('name' in weights) || !indexName.test(String(weights.name))) return [];
  try {
    const { weight_map: map } = JSON.parse(await weights.text());
    return [...new Set(Object.values(map as Record<string, string>))].filter((name) => !(name in shards));
  } catch {
    // Opening it reports what is wrong with it.
    return [];
  }
}

/** The files by their names, each once. */
export function sortFiles(files: readonly File[]): {
  readonly files?: ModelFiles;
  readonly missing: readonly Missing[];
  /** Files of weights each of which may be the model, where there are several. */
  readonly rivals: readonly File[];
} {
  const called = (wanted: string) => files.find(({ name }) => name === wanted);
  const config = called('config.json');
  const tokenizer = called('tokenizer.json');
  const tokenizerConfig = called('tokenizer_config.json');
  const index = files.find(({ name }) => indexName.test(name));
  const weights = files.filter(({ name }) => weightsName.test(name));
  // Files such as model-00001-of-00003 belong to an index, which lists the tensors of each.
  const whole = weights.filter(({ name }) => !/-\d+-of-\d+\.safetensors$/.test(name));
  const source = index ?? (whole.length === 1 ? whole[0] : undefined);
  const missing: Missing[] = [
    ...(config === undefined ? (['config'] as const) : []),
    ...(weights.length === 0 ? (['weights'] as const) : []),
    ...(whole.length === 0 && weights.length > 0 && source === undefined ? (['index'] as const) : []),
  ];
  const rivals = source === undefined && whole.length > 1 ? whole : [];
  if (config === undefined || source === undefined || weights.length === 0) return { missing, rivals };
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
    rivals,
  };
}
