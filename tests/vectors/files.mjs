// Reads vector files: our own { format: 1, group, cases }, safetensors or GGUF files with the expected verdict on each, and the
// { tests } of ONNX's backend tests.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The error for a path or file that cannot be used; the runner prints its message. */
export class UnusableFile extends Error {}

/** [{ group, cases }] of all files at the paths, each a file or a folder of .json files. */
export function readVectors(paths) {
  return paths.flatMap(filesAt).map(readFile);
}

function filesAt(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new UnusableFile(`${path}: no such file or folder`);
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => name.endsWith('.json'));
  if (names.length === 0) throw new UnusableFile(`${path}: holds no .json files`);
  return names.sort().map((name) => join(path, name));
}

function readFile(path) {
  const content = parse(path, readText(path));
  for (const { matches, read } of formats) if (matches(content)) return read(path, content);
  throw new UnusableFile(
    `${path}: not a vector file; expected { "format": 1, "group", "cases" } or ONNX's { "tests" }`,
  );
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UnusableFile(`${path}: cannot be read: ${error.code}`);
  }
}

// Python writes -Infinity and NaN, which JSON has no words for. They become strings, which Number() reads.
function parse(path, text) {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (s) => (s.startsWith('"') ? s : `"${s}"`)));
    } catch (error) {
      throw new UnusableFile(`${path}: not JSON: ${error.message.replace(/\s+/g, ' ')}`);
    }
  }
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const formats = [
  { matches: (c) => isObject(c) && c.format === 1 && isListOfFiles(c.cases), read: readFiles },
  {
    matches: (c) => isObject(c) && c.format === 1 && typeof c.group === 'string' && Array.isArray(c.cases),
    read: readCases,
  },
  { matches: (c) => isObject(c) && isObject(c.tests), read: readOnnx },
];

function readCases(path, { group, cases }) {
  for (const [i, each] of cases.entries()) {
    const problem = problemOf(each);
    if (problem !== undefined) throw new UnusableFile(`${path}: case ${i} (${each?.name ?? 'no name'}): ${problem}`);
  }
  return { group, cases: cases.map((each) => ({ params: {}, inputs: {}, outputs: {}, ...each })) };
}

function problemOf(each) {
  if (!isObject(each)) return 'is no object';
  if (typeof each.name !== 'string' || typeof each.op !== 'string') return 'has no name or no op';
  if (each.expect !== undefined && each.expect !== 'error')
    return `expects ${JSON.stringify(each.expect)}; only "error" is known`;
  if (each.expect === undefined && Object.keys(each.outputs ?? {}).length === 0)
    return 'has no outputs and expects no error';
  for (const [name, array] of Object.entries({ ...each.inputs, ...each.outputs })) {
    if (!isObject(array) || !Array.isArray(array.shape) || !Array.isArray(array.data))
      return `${name} has no shape or no data`;
    const size = array.shape.reduce((product, n) => product * n, 1);
    if (size !== array.data.length)
      return `${name} has ${array.data.length} numbers for shape [${array.shape.join(', ')}]`;
  }
  for (const [name, { tol }] of Object.entries(each.outputs ?? {})) {
    if (!((tol ?? 0) >= 0)) return `${name} has tol ${tol}`;
  }
  return undefined;
}

const isListOfFiles = (cases) =>
  Array.isArray(cases) && cases.length > 0 && cases.every((each) => typeof each?.base64 === 'string');

// What a case expects, by its verdict: `either` may be refused, or read rightly.
const expectations = { ok: undefined, error: 'error', either: 'either' };

// Most files of a set begin as its format says; some are refused because they do not.
function formatOf(cases) {
  const beginning = Buffer.from('GGUF').toString('base64').slice(0, 5);
  const count = cases.filter(({ base64 }) => base64.startsWith(beginning)).length;
  return 2 * count > cases.length ? 'gguf' : 'safetensors';
}

function readFiles(path, { group = basename(path, '.json'), cases }) {
  const op = formatOf(cases);
  return {
    group,
    cases: cases.map(({ name, verdict, size, base64, why, ...params }, i) => {
      const file = Uint8Array.from(Buffer.from(base64, 'base64'));
      const problem = !Object.hasOwn(expectations, verdict)
        ? `has the verdict ${JSON.stringify(verdict)}; known are ${Object.keys(expectations).join(', ')}`
        : file.length !== (size ?? file.length) && `has ${file.length} bytes, not ${size}`;
      if (problem) throw new UnusableFile(`${path}: case ${i} (${name ?? 'no name'}): ${problem}`);
      return { name, op, params: { file, ...params }, inputs: {}, outputs: {}, expect: expectations[verdict] };
    }),
  };
}

// ONNX's numbers of types; what is not here is skipped with its number.
const onnxTypes = { 1: 'f32', 7: 'i64', 9: 'bool', 10: 'f16', 11: 'f64' };

// How far a result may be from a published one: those were computed in float32 (rounding of inputs and of a few sums),
// or rounded to float16.
const onnxTolerances = { f32: { tol: 2e-6, rtol: 2e-6 }, f16: { tol: 1e-3, rtol: 1e-3 } };

function readOnnx(path, { tests }) {
  const arrays = (named, extra) =>
    Object.fromEntries(
      Object.entries(named ?? {}).map(([name, { dims, onnx_dtype: type, data }]) => {
        const dtype = onnxTypes[type] ?? `onnx ${type}`;
        const numbers = data.map((value) => value ?? Number.NEGATIVE_INFINITY); // which JSON cannot say
        return [name, { shape: dims, dtype, data: numbers, ...extra?.[dtype] }];
      }),
    );
  const cases = Object.entries(tests).map(([name, { op, attrs, inputs, outputs }]) => ({
    name,
    op: `onnx/${op}`,
    params: attrs ?? {},
    inputs: arrays(inputs),
    outputs: arrays(outputs, onnxTolerances),
  }));
  return { group: basename(path, '.json'), cases };
}
