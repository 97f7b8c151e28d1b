// Which of the files that a reader gave is what, and what is missing still or too much.
/** A GGUF file as the reader gave it. */
export interface GgufFiles {
  /** The one file, or the first part. */
  readonly gguf: File;
  /** By their numbers, the first too. */
  readonly parts: Readonly<Record<number, Blob>>;
}

/** Files of a model as Hugging Face saves it. */
export interface CheckpointFiles {
  readonly config: Blob;
  /** The one file, or the index of several. */
  readonly weights: Blob;
  /** By the names that an index calls them. */
  readonly shards: Readonly<Record<string, Blob>>;
  /** With it the model can be given text. */
  readonly tokenizer?: Blob;
  readonly tokenizerConfig?: Blob;
}

/** Files of a model as the reader gave them. */
export type ModelFiles = CheckpointFiles | GgufFiles;

export type Missing = 'config' | 'weights' | 'index' | 'first';

const weightsName = /\.safetensors$/;
const indexName = /\.safetensors\.index\.json$/;
const ggufName = /\.gguf$/;
// The number of a part of a split file, and how many there are.
const ggufPart = /-(\d{5})-of-(\d{5})\.gguf$/;
const otherNames = ['config.json', 'tokenizer.json', 'tokenizer_config.json'];

/** Whether a file may be a part of a model, by its name. */
export const isOfUse = ({ name }: File): boolean =>
  otherNames.includes(name) || weightsName.test(name) || indexName.test(name) || ggufName.test(name);

/** Each once. Of the same name the later one counts. */
export const latestOf = (files: readonly File[]): File[] => [
  ...new Map(files.map((file) => [file.name, file])).values(),
];

// The name of a part of a split GGUF file, by that of the first.
const partName = (first: string, number: number): string =>
  first.replace(ggufPart, (_, __, count) => `-${String(number).padStart(5, '0')}-of-${count}.gguf`);

/** The parts that an index or a first part names and that are not there; none where an index cannot be read. */
export async function absentParts(files: ModelFiles): Promise<string[]> {
  if ('gguf' in files) {
    const count = Number(ggufPart.exec(files.gguf.name)?.[2] ?? 1);
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    return numbers.filter((number) => !(number in files.parts)).map((number) => partName(files.gguf.name, number));
  }
  const { weights, shards } = files;
  if (!('name' in weights) || !indexName.test(String(weights.name))) return [];
  try {
    const { weight_map: map } = JSON.parse(await weights.text());
    return [...new Set(Object.values(map as Record<string, string>))].filter((name) => !(name in shards));
  } catch {
    // Opening it reports what is wrong with it.
    return [];
  }
}

interface Sorted {
  readonly files?: ModelFiles;
  readonly missing: readonly Missing[];
  /** Files of weights each of which may be the model, where there are several. */
  readonly rivals: readonly File[];
}

// A GGUF file holds everything; of a split one the first part says so.
function sortGgufs(ggufs: readonly File[]): Sorted {
  const numberOf = ({ name }: File) => Number(ggufPart.exec(name)?.[1] ?? 1);
  const firsts = ggufs.filter((file) => numberOf(file) === 1);
  const [gguf, ...others] = firsts;
  if (gguf === undefined) return { missing: ['first'], rivals: [] };
  if (others.length > 0) return { missing: [], rivals: firsts };
  return {
    files: { gguf, parts: Object.fromEntries(ggufs.map((file) => [numberOf(file), file])) },
    missing: [],
    rivals: [],
  };
}

/** The files by their names, each once. */
export function sortFiles(files: readonly File[]): Sorted {
  const ggufs = files.filter(({ name }) => ggufName.test(name));
  if (ggufs.length > 0) return sortGgufs(ggufs);
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
