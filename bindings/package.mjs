// Makes dist/ from the wasm builds and the TypeScript in ts/. The wasm is contained in the JavaScript (deflate,
// then base64), which works with every bundler and needs no server configuration. The modules of ts/ are bundled to one
// file for each entry, two with wasm and a few shared files, since every import costs half a millisecond in Node and a
// request in a page: one for the entries that compute, one for all, one for models, and what loadModel imports only for an
// encoder, a GGUF file, or a model of a family that few use. They are not minified, so that the code is readable in a debugger; the script for
// pages without modules is, since nothing minifies it later.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateRawSync } from 'node:zlib';
import { deflateAsync } from '@gfx/zopfli';
import { rolldown } from 'rolldown';
import { joinDeclarations } from './declarations.mjs';
import { stepsFrom } from './steps.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const built = (build, file) => join(root, 'build', build, 'bindings', file);
const staging = join(root, 'build', 'package');
const dist = join(root, 'dist');

// Both builds have the same interface, so they share the glue and the contract.
const ofBoth = (file) => {
  const text = readFileSync(built('wasm-simd', file), 'utf8');
  if (text === readFileSync(built('wasm-relaxed', file), 'utf8')) return text;
  throw new Error(`${file} of the simd and of the relaxed build differ; rebuild both`);
};
// Bundlers leave out an unused call only where it is marked.
const pure = (text) => text.replace('var Module = (', 'var Module = /* @__PURE__ */ (');

// Appends to each build a custom section (0, its length, its name, a hash of the preceding bytes), by which load()
// detects a file of another build or version.
const cores = ['wasm-simd', 'wasm-relaxed'].map((build) => readFileSync(built(build, 'core.wasm')));
const ids = cores.map((core) => createHash('sha256').update(core).digest('hex').slice(0, 32));
for (const [i, id] of ids.entries()) {
  const section = ['\0', String.fromCharCode(1 + 8 + id.length), '\x08ropewalk', id].join('');
  cores[i] = Buffer.concat([cores[i], Buffer.from(section)]);
}

// The two builds are almost identical. The relaxed one, which most engines run, is packed whole and the other as steps
// from it, so that both together are little larger than one.
const [simd128, relaxed] = cores;
const { bytes: steps, ...counts } = stepsFrom(relaxed, simd128);

// Zopfli deflates to 5 % less than zlib and takes seconds, so its output is kept until its input changes.
mkdirSync(staging, { recursive: true });
const pack = async (name, bytes) => {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const file = join(staging, `${name}-${hash}.deflated`);
  if (!existsSync(file)) {
    const deflated = await deflateAsync(bytes, { numiterations: 5 });
    if (!inflateRawSync(deflated).equals(bytes)) throw new Error(`${name} is not what was deflated`);
    for (const old of readdirSync(staging)) if (old.startsWith(`${name}-`)) rmSync(join(staging, old));
    writeFileSync(file, deflated);
  }
  return readFileSync(file, 'base64');
};
const { version, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const inline = `// The relaxed build and the steps from it to the other, deflated, in base64. Made by bindings/package.mjs.
export const sizes = { relaxed: ${relaxed.length}, simd128: ${simd128.length}, steps: ${steps.length} };
export const packedRelaxed = '${await pack('relaxed', relaxed)}';
export const packedSteps = '${await pack('steps', steps)}';
export const counts = ${JSON.stringify(counts)};
`;
const inlineTypes = `export const sizes: { readonly relaxed: number; readonly simd128: number; readonly steps: number };
export const packedRelaxed: string;
export const packedSteps: string;
export const counts: { readonly steps: number; readonly changes: number };
`;

// The core of training, which has one build.
const training = readFileSync(built('wasm-simd', 'training-core.wasm'));
const inlineTraining = `// The core of training, deflated, in base64. Made by bindings/package.mjs.
export const size = ${training.length};
export const packedTraining = '${await pack('training', training)}';
`;

// The builds with threads, whose bindings are those of the others and a few more.
const inlineThreadsOf = async (name, base, build) => {
  const { bytes, ...counts } = stepsFrom(base, build);
  return `// The steps from a build to the one with threads, deflated, in base64. Made by bindings/package.mjs.
export const sizes = { threads: ${build.length}, steps: ${bytes.length} };
export const packedSteps = '${await pack(name, bytes)}';
export const counts = ${JSON.stringify(counts)};
`;
};
const inlineThreads = await inlineThreadsOf('threads', relaxed, readFileSync(built('wasm-threads', 'core.wasm')));
const inlineTrainingThreads = await inlineThreadsOf(
  'trainingthreads',
  training,
  readFileSync(built('wasm-training-threads', 'training-core.wasm')),
);
const inlineThreadsTypes = `export const sizes: { readonly threads: number; readonly steps: number };
export const packedSteps: string;
export const counts: { readonly steps: number; readonly changes: number };
`;
const threadsTypes = `// Made by bindings/package.mjs: core.d.mts, and what embind/threads.cpp adds.
import type { MainModule as Core } from './core.mjs';
export type MainModule = Core & {
  readonly wasmMemory: WebAssembly.Memory;
  openPool(threads: number): void;
  poolEntry(): number;
  poolLost(): number;
  poolClosed(): number;
  poolWake(): number;
};
export default function createCore(options?: unknown): Promise<MainModule>;
`;
const trainingThreadsTypes = `// Made by bindings/package.mjs: a core of training, as a heap has it.
export { default, type MainModule } from './threads-core.mjs';
`;

writeFileSync(join(staging, 'core.mjs'), pure(ofBoth('core.mjs')));
writeFileSync(join(staging, 'training-core.mjs'), pure(readFileSync(built('wasm-simd', 'training-core.mjs'), 'utf8')));
writeFileSync(join(staging, 'threads-core.mjs'), pure(readFileSync(built('wasm-threads', 'core.mjs'), 'utf8')));
writeFileSync(join(staging, 'threads-core.d.mts'), threadsTypes);
writeFileSync(
  join(staging, 'training-threads-core.mjs'),
  pure(readFileSync(built('wasm-training-threads', 'training-core.mjs'), 'utf8')),
);
writeFileSync(join(staging, 'training-threads-core.d.mts'), trainingThreadsTypes);
for (const file of ['core.d.mts', 'training-core.d.mts']) cpSync(built('wasm-simd', file), join(staging, file));
for (const file of ['calls.d.ts', 'calls.js', 'enums.d.ts', 'enums.js'])
  writeFileSync(join(staging, file), ofBoth(file));
writeFileSync(join(staging, 'inline.js'), inline);
writeFileSync(join(staging, 'inline.d.ts'), inlineTypes);
writeFileSync(join(staging, 'training-inline.js'), inlineTraining);
writeFileSync(
  join(staging, 'training-inline.d.ts'),
  'export const size: number;\nexport const packedTraining: string;\n',
);
writeFileSync(join(staging, 'threads-inline.js'), inlineThreads);
writeFileSync(join(staging, 'threads-inline.d.ts'), inlineThreadsTypes);
writeFileSync(join(staging, 'training-threads-inline.js'), inlineTrainingThreads);
writeFileSync(join(staging, 'training-threads-inline.d.ts'), inlineThreadsTypes);
const versions = `// Made by bindings/package.mjs.
export const version = '${version}';
export const buildIds = { simd128: '${ids[0]}', relaxed: '${ids[1]}' };
`;
const versionTypes = `export const version: string;
export const buildIds: { readonly simd128: string; readonly relaxed: string };
`;
writeFileSync(join(staging, 'version.js'), versions);
writeFileSync(join(staging, 'version.d.ts'), versionTypes);

// Resolves imports of generated files to the staging folder, as rootDirs in tsconfig.json does.
const project = join(root, 'bindings', 'ts');
const besides = {
  name: 'besides',
  resolveId: (source) => {
    const made =
      /^(?:\.\.?\/)+((?:\w+-)*core\.mjs|(?:calls|enums|(?:\w+-)*inline|model-ropes|thread-code|version)\.js)$/.exec(
        source,
      );
    return made && join(staging, made[1]);
  },
};
const bundleOf = (input, ...plugins) =>
  rolldown({
    input,
    platform: 'neutral',
    plugins: [besides, ...plugins],
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    tsconfig: join(project, 'tsconfig.json'),
  });

// What classes of models make of RoPE, as data, for the main entry, which does not contain the models: a row for all model
// types that have the same in common. Families without RoPE have other positions.
const importBundled = async (...path) => {
  const [{ code }] = (await (await bundleOf(join(project, ...path))).generate()).output;
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
};
const { families } = await importBundled('models', 'families', 'families.ts');
const { others } = await importBundled('models', 'families', 'others.ts');
const alike = new Map();
const withoutRope = { positionType: 'absolute' };
for (const [names, rope = withoutRope] of [
  ...Object.entries(families).map(([name, { rope }]) => [name, rope]),
  ...others,
]) {
  const key = JSON.stringify(rope);
  alike.set(key, [...(alike.get(key) ?? []), ...names.split(' ')]);
}
const named = [...alike.values()].flat();
const twice = named.find((name, i) => named.indexOf(name) < i);
if (twice !== undefined) throw new Error(`${twice} has two entries in families.ts and others.ts; expected one`);
const rows = [...alike].map(([rope, names]) => `  ['${names.sort().join(' ')}', ${rope}],\n`);
writeFileSync(join(staging, 'model-ropes.js'), `export const modelRopes = [\n${rows.join('')}];\n`);
writeFileSync(
  join(staging, 'model-ropes.d.ts'),
  'export const modelRopes: readonly (readonly [names: string, rope: object])[];\n',
);

// The worker's file as a text, for pages that lack the file.
const worker = await bundleOf(join(project, 'thread.ts'));
const [{ code: threadCode }] = (await worker.generate({ format: 'iife', minify: true })).output;
writeFileSync(join(staging, 'thread-code.js'), `export const threadCode = ${JSON.stringify(threadCode)};\n`);
writeFileSync(join(staging, 'thread-code.d.ts'), 'export const threadCode: string;\n');

// Builds in the staging folder and replaces dist/ at the end, so that a failure keeps the previous one.
const next = join(staging, 'dist');
rmSync(next, { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve('typescript/package.json');
const ofModules = join(staging, 'declarations');
rmSync(ofModules, { recursive: true, force: true });
execFileSync(process.execPath, [join(dirname(tsc), 'bin', 'tsc'), '-p', project, '--outDir', ofModules], {
  stdio: 'inherit',
});

// Tells which modules an entry needs in any case, so without those that it imports when a function is called.
const neededBy = async (entry) => {
  const [{ moduleIds }] = (await (await bundleOf(join(project, entry))).generate()).output;
  return (id) => moduleIds.includes(id) && id !== join(project, entry);
};
const [ofIndex, ofTraining] = [await neededBy('index.ts'), await neededBy('training.ts')];
const isOfThreads = (id) =>
  /[\\/]threads[\\/](?:environment|open|pool|shared-heap)\.ts$|[\\/]thread-code\.js$/.test(id);
// The families that loadModel imports when a config names one, and what needs them at once, without what others need.
const inModels = (...path) => join('models', ...path);
const [allFamilies, common, reading] = [
  inModels('families', 'families.ts'),
  inModels('families', 'common.ts'),
  inModels('read-config.ts'),
];
const [ofFamilies, ofCommon] = [await neededBy(allFamilies), await neededBy(common)];
const isFamily = (id) =>
  id === join(project, allFamilies) || (ofFamilies(id) && !ofCommon(id) && id !== join(project, common));
// In a file of its own: esbuild loads at the start what an import of models.js leads to, used or not.
const isReading = (id) => id === join(project, reading);
const ofModels = await neededBy('models.ts');

const entries = ['index', 'external', 'models', 'threads', 'training', 'worker'];
const bundle = await bundleOf(
  // node.ts has index's types, and thread.ts is run, not imported.
  Object.fromEntries([...entries, 'node', 'thread'].map((name) => [name, join(project, `${name}.ts`)])),
);
await bundle.write({
  dir: next,
  codeSplitting: {
    groups: [
      { name: 'inline', test: /[\\/]inline\.js$/, priority: 5 },
      { name: 'training-inline', test: /\btraining-inline\.js$/, priority: 5 },
      { name: 'errors', test: await neededBy('worker.ts'), minShareCount: 3, priority: 4 },
      { name: 'core', test: ofIndex, minShareCount: 3, priority: 3 },
      { name: 'ids', test: ofTraining, minShareCount: 2, priority: 3 }, // of models and training
      { name: 'threads', test: isOfThreads, priority: 3 }, // of both entries that may have them
      // Each takes what its modules need with them, unless another has it already.
      { name: 'models', test: (id) => ofModels(id) && !isFamily(id) && !isReading(id), priority: 2 },
      { name: 'families', test: isFamily, priority: 1 },
      { name: 'config', test: isReading, priority: 0 },
    ],
  },
  chunkFileNames: ({ name }) => (/inline$/.test(name) ? '[name].js' : 'shared-[name].js'),
  comments: { annotation: true, jsdoc: false, legal: true }, // editors show the comments of the .d.ts files
  sourcemap: process.argv.includes('--maps'), // for npm run coverage; what is published has none
  sourcemapPathTransform: (source, map) => relative(dist, resolve(dirname(map), source)),
});
// A script is one file: it has from the start what the modules import later.
const fromTheStart = {
  name: 'from-the-start',
  transform(code) {
    const later = [];
    const changed = code.replace(/await import\('(\.[^']+)'\)/g, (_, path) => `later${later.push(path)}`);
    return later.map((path, i) => `import * as later${i + 1} from '${path}';\n`).join('') + changed;
  },
};
const script = await bundleOf(join(project, 'global.ts'), fromTheStart);
await script.write({
  file: join(next, 'ropewalk.global.js'),
  format: 'iife',
  name: 'ropewalk',
  minify: true,
  postBanner: `/*! ropewalk ${version} | MIT */`,
});
for (const [file, text] of Object.entries(joinDeclarations(ofModules, entries))) writeFileSync(join(next, file), text);
writeFileSync(join(next, 'core.wasm'), cores[0]);
writeFileSync(join(next, 'core-relaxed.wasm'), cores[1]);
rmSync(dist, { recursive: true, force: true });
renameSync(next, dist);

// Resolvers that do not read `exports`, such as Parcel's by default, find `ropewalk/models` by a folder of this name.
for (const [entry, { types, default: main }] of Object.entries(exports)) {
  if (entry === '.' || main === undefined) continue;
  const stub = { type: 'module', main: `.${main}`, types: `.${types}`, sideEffects: false };
  mkdirSync(join(root, entry), { recursive: true });
  writeFileSync(join(root, entry, 'package.json'), `${JSON.stringify(stub, null, 2)}\n`);
}

// For <script integrity>, and for the `integrity` of an import map.
console.log('integrity of what a page can load from another host:');
for (const file of readdirSync(dist).filter((name) => name.endsWith('.js'))) {
  const hash = createHash('sha384')
    .update(readFileSync(join(dist, file)))
    .digest('base64');
  console.log(`  dist/${file} sha384-${hash}`);
}
