// Every consumer: what builds or runs the package, and how. A consumer has a name, a kind and `files` of its project; a
// page has `build(folder)`, which gives the folder to serve with `headers`, or `serve(folder)`, which gives { address,
// close }; a program has `run(folder)`, which gives what it printed. `gives` is a line that replaces the usual one; with
// `mayComplain` the console may have errors.
import { readdirSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binaryOf, execute, packageOf, serverOf } from './run-command.mjs';

const node = process.execPath;

const threadsEntry = 'ropewalk/threads';

// What it gives: the same numbers as one thread.
const threaded = (tell) => `import { load } from '${threadsEntry}';
const x = { data: Float32Array.from({ length: 2 ** 18 }, (_, i) => (i * 7919) % 1000), shape: [256, 1024] };
const [two, one] = [await load({ threads: 2 }), await load({ threads: 1 })];
const [a, b] = [two, one].map((rw) => rw.softmax(x).data);
const { threads, why } = two.info();
two.dispose();
${tell}(threads + ' threads, ' + (a.every((value, i) => value === b[i]) ? 'equal' : 'other') + ' bits, ' + why);
`;
// A browser says that the worker's file is missing, where it is, before the package tries another way.
const linesOf = (entry) =>
  entry === threadsEntry ? { gives: '2 threads, equal bits, undefined', mayComplain: true } : {};

// What docs/threads.md asks of servers.
const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const headersOf = (entry) => (entry === threadsEntry ? isolation : {});

// Node 20 has relaxed SIMD, which threads need, by these only.
const isNode20 = process.versions.node.startsWith('20.');
const flagsOf = (entry) =>
  entry === threadsEntry && isNode20 ? ['--experimental-wasm-relaxed-simd', '--no-liftoff'] : [];

const rotating = (tell, entry) => `import { load } from '${entry}';
const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: 8, base: 10000, pairing: 'half' });
const turned = plan.rotate(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), { positions: [12345] });
${tell}(Array.from(new Uint32Array(turned.buffer), (bits) => bits.toString(16)).join());
`;

/** The program of a page or a process; `tell` is handed one line. */
const program = (tell, entry = 'ropewalk') => (entry === threadsEntry ? threaded(tell) : rotating(tell, entry));
const catching = (code, tell) => `async function main() {
${code.replace(/^import (.*) from '(.*)';$/gm, "  const $1 = await import('$2');")}}
main().catch((error) => ${tell}(String(error)));
`;

/** The line that every consumer gives: the bits of one rotation. */
export const expected = async (load) => {
  const rw = await load({ simd: 'deterministic' });
  const plan = rw.rope({ headDim: 8, base: 10000, pairing: 'half' });
  const turned = plan.rotate(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), { positions: [12345] });
  return Array.from(new Uint32Array(turned.buffer), (bits) => bits.toString(16)).join();
};

const page = (script) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>consumer</title><body><script type="module" src="${script}"></script></body></html>
`;
const tell = 'globalThis.tell';
const define = `${tell} = (line) => { document.title = 'ready'; document.body.textContent = line; };\n`;
const pageFiles = (entry, script = './main.js') => ({
  'package.json': '{ "private": true, "type": "module" }',
  'index.html': page(script),
  'main.js': define + catching(program(tell, entry), tell),
});

const pageOf = (entry) => ({ entry, kind: 'page', headers: headersOf(entry), ...linesOf(entry) });

const vite = (version, entry, how) => {
  const bin = join(packageOf(`vite${version}`), 'bin', 'vite.js');
  // The setting of docs/external.md: the servers bundle dependencies, and leave out files beside the code.
  const config =
    entry === 'ropewalk/external'
      ? "optimizeDeps: { exclude: ['ropewalk'] }"
      : `server: { headers: ${JSON.stringify(headersOf(entry))} }`;
  return {
    name: `Vite ${version}, ${how}`,
    ...pageOf(entry),
    files: { ...pageFiles(entry, '/main.js'), 'vite.config.js': `export default { base: './', ${config} };\n` },
    ...(how === 'build'
      ? {
          async build(folder) {
            await execute(node, [bin, 'build'], folder);
            return join(folder, 'dist');
          },
        }
      : { serve: (folder) => serverOf(node, [bin, '--port', '0', '--host', '127.0.0.1'], folder) }),
  };
};

// What docs/external.md asks of bundlers that leave out files beside the code.
const copyFiles = async (folder) => {
  const dist = join(folder, 'node_modules', 'ropewalk', 'dist');
  for (const name of ['core.wasm', 'core-relaxed.wasm']) await copyFile(join(dist, name), join(folder, 'dist', name));
};
const copies = (entry, leavesOut) => entry === 'ropewalk/external' && leavesOut;

// A bundler that is called by a program: `make` is its source, which writes dist/main.js.
const byProgram = (name, entry, make, leavesOut = false) => ({
  name: copies(entry, leavesOut) ? `${name}, files copied` : name,
  ...pageOf(entry),
  files: { ...pageFiles(entry, './dist/main.js'), 'make.mjs': make },
  async build(folder) {
    await execute(node, ['make.mjs'], folder);
    if (copies(entry, leavesOut)) await copyFiles(folder);
    return folder;
  },
});

const webpackLike = (module) => `import bundler from '${module}';
const { webpack, rspack } = bundler;
const run = (webpack ?? rspack ?? bundler)({
  mode: 'production', entry: './main.js', context: import.meta.dirname ?? process.cwd(),
  output: { path: process.cwd() + '/dist', filename: 'main.js', publicPath: 'auto' }, performance: { hints: false },
});
run.run((error, stats) => {
  if (error || stats.hasErrors()) { console.error(error ?? stats.toString()); process.exit(1); }
  run.close(() => {});
});
`;
const rollupLike = (module, plugins) => `import { ${module} } from '${module}';
${plugins ? "import { nodeResolve } from '@rollup/plugin-node-resolve';" : ''}
const bundle = await ${module}({ input: 'main.js', plugins: [${plugins ? 'nodeResolve()' : ''}] });
await bundle.write({ dir: 'dist', entryFileNames: 'main.js' });
`;

const bundlers = (entry) => [
  ...[5, 7, 8].flatMap((version) => [vite(version, entry, 'dev'), vite(version, entry, 'build')]),
  byProgram('webpack', entry, webpackLike('webpack')),
  byProgram('Rspack', entry, webpackLike('@rspack/core')),
  byProgram(
    'esbuild',
    entry,
    `import { build } from 'esbuild';
await build({ entryPoints: ['main.js'], bundle: true, format: 'esm', splitting: true, outdir: 'dist', minify: true });
`,
    true,
  ),
  byProgram('Rollup', entry, rollupLike('rollup', true), true),
  byProgram('Rolldown', entry, rollupLike('rolldown', false), true),
  {
    name: 'Parcel',
    ...pageOf(entry),
    files: pageFiles(entry),
    async build(folder) {
      const bin = join(packageOf('parcel'), 'lib', 'bin.js');
      await execute(node, [bin, 'build', 'index.html', '--no-cache', '--public-url', './'], folder);
      return join(folder, 'dist');
    },
  },
  {
    name: copies(entry, true) ? 'Bun, build, files copied' : 'Bun, build',
    ...pageOf(entry),
    files: pageFiles(entry, './dist/main.js'),
    async build(folder) {
      await execute(binaryOf('bun'), ['build', 'main.js', '--outdir', 'dist', '--target', 'browser'], folder);
      if (copies(entry, true)) await copyFiles(folder);
      return folder;
    },
  },
  {
    name: 'no bundler, import map',
    ...pageOf(entry),
    files: {
      ...pageFiles(entry),
      'index.html': page('./main.js').replace(
        '<body>',
        `<script type="importmap">{ "imports": { "${entry}": "./node_modules/ropewalk/dist/${entry === 'ropewalk' ? 'index' : entry.slice(9)}.js" } }</script><body>`,
      ),
    },
    build: async (folder) => folder,
  },
];

// The files of a folder of examples/.
function example(name) {
  const folder = fileURLToPath(new URL(`../../../examples/${name}/`, import.meta.url));
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map(({ parentPath, path, name }) => join(parentPath ?? path, name));
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length), readFileSync(path, 'utf8')]));
}

async function serveNext(folder, ...options) {
  const bin = join(packageOf('next'), 'dist', 'bin', 'next');
  const env = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' };
  await execute(node, [bin, 'build', ...options], folder, { env });
  return serverOf(node, [bin, 'start', '--port', '0', '--hostname', '127.0.0.1'], folder, { env });
}

const next = (bundler, side, entry) => ({
  name: `Next 16, ${bundler}, ${side}`,
  ...pageOf(entry),
  // Its processes cannot be given the flags of Node 20.
  ...(entry === threadsEntry && side === 'server' && isNode20
    ? { gives: '1 threads, equal bits, this engine has no relaxed SIMD' }
    : {}),
  files: {
    'package.json': '{ "private": true }',
    'next.config.mjs': `const headers = ${JSON.stringify(
      Object.entries(headersOf(entry)).map(([key, value]) => ({ key, value })),
    )};
export default headers.length > 0 ? { headers: async () => [{ source: '/:path*', headers }] } : {};
`,
    'app/layout.js':
      'export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html>; }\n',
    'app/page.js':
      side === 'client'
        ? `'use client';
import { useEffect } from 'react';
import { load } from '${entry}';
async function compute() {
${program('return ', entry).replace(/^import.*\n/, '')}}
export default function Page() {
  useEffect(() => {
    compute().catch(String).then((line) => { document.body.textContent = line; document.title = 'ready'; });
  }, []);
  return <p>wait</p>;
}
`
        : `import { load } from '${entry}';
async function compute() {
${program('return ', entry).replace(/^import.*\n/, '')}}
export const dynamic = 'force-dynamic';
export const metadata = { title: 'ready' };
export default async function Page() { return <p>{await compute().catch(String)}</p>; }
`,
  },
  serve: (folder) => serveNext(folder, `--${bundler.toLowerCase()}`),
});

const printing = (name, files, command, args, entry = 'ropewalk') => ({
  name,
  entry,
  kind: 'program',
  ...linesOf(entry),
  files: { 'package.json': '{ "private": true, "type": "module" }', ...files },
  run: (folder) => execute(command(), args, folder),
});
const log = 'console.log';

// Bundles worker.js and asks it for `path`, in workerd.
const inWorkerd = (path, date) => `import { build } from 'esbuild';
import { readFileSync } from 'node:fs';
import { Miniflare } from 'miniflare';
await build({ entryPoints: ['worker.js'], bundle: true, format: 'esm', outfile: 'out.mjs', external: ['*.wasm'], conditions: ['worker'] });
const contents = readFileSync('out.mjs', 'utf8').replace(/from "[^"]*core\\.wasm"/, 'from "./core.wasm"');
const miniflare = new Miniflare({ compatibilityDate: '${date}', modules: [
  { type: 'ESModule', path: 'out.mjs', contents },
  { type: 'CompiledWasm', path: 'core.wasm', contents: readFileSync('node_modules/ropewalk/dist/core.wasm') },
] });
console.log(await (await miniflare.dispatchFetch('http://localhost${path}')).text());
await miniflare.dispose();
`;

// Node, Deno and Bun.
const runtimes = (entry) => [
  printing('Node, import', { 'main.mjs': program(log, entry) }, () => node, [...flagsOf(entry), 'main.mjs'], entry),
  printing(
    'Node, require',
    { 'main.cjs': requiring(program(log, entry)) },
    () => node,
    ['--no-warnings', ...flagsOf(entry), 'main.cjs'],
    entry,
  ),
  printing(
    'Node, stdin',
    { 'main.mjs': program(log, entry) },
    () => 'sh',
    ['-c', `'${node}' ${flagsOf(entry).join(' ')} --input-type=module - < main.mjs`],
    entry,
  ),
  printing(
    'Node, worker_threads',
    {
      'main.mjs': `import { Worker } from 'node:worker_threads';
new Worker(new URL('./worker.mjs', import.meta.url)).on('message', (line) => console.log(line));
`,
      'worker.mjs': `import { parentPort } from 'node:worker_threads';\n${program('parentPort.postMessage', entry)}`,
    },
    () => node,
    [...flagsOf(entry), 'main.mjs'],
    entry,
  ),
  printing(
    'Deno',
    { 'main.mjs': program(log, entry) },
    () => binaryOf('deno'),
    ['run', '--allow-read', 'main.mjs'],
    entry,
  ),
  printing('Bun, import', { 'main.mjs': program(log, entry) }, () => binaryOf('bun'), ['main.mjs'], entry),
  printing('Bun, require', { 'main.cjs': requiring(program(log, entry)) }, () => binaryOf('bun'), ['main.cjs'], entry),
];

const programs = [
  ...runtimes('ropewalk'),
  printing(
    'Node, external',
    { 'main.mjs': program(log, 'ropewalk/external') },
    () => node,
    ['main.mjs'],
    'ropewalk/external',
  ),
  printing(
    'Vitest',
    {
      'main.test.js': `import { test } from 'vitest';\ntest('it', async () => {\n${program('process.stdout.write').replace(/^import (.*) from '(.*)';$/m, "const $1 = await import('$2');")}});\n`,
    },
    () => node,
    [join(packageOf('vitest'), 'vitest.mjs'), 'run', '--reporter', 'tap', '--disable-console-intercept'],
  ),
  printing(
    'Jest',
    {
      'main.test.js': `import { load } from 'ropewalk';\nimport { test } from '@jest/globals';\ntest('it', async () => {\n${program('process.stdout.write').replace(/^import.*\n/, '')}});\n`,
    },
    () => node,
    ['--experimental-vm-modules', '--no-warnings', join(packageOf('jest'), 'bin', 'jest.js'), '--rootDir', '.'],
  ),
  printing(
    'Cloudflare workerd (miniflare)',
    {
      'worker.js': `import module from 'ropewalk/core.wasm';
import { load } from 'ropewalk';
export default { async fetch() {
${program('return new Response')
  .replace(/^import.*\n/, '')
  .replace("{ simd: 'deterministic' }", '{ module }')}} };
`,
      // The oldest engine: without FinalizationRegistry.
      'make.mjs': inWorkerd('/', '2024-01-01'),
    },
    () => node,
    ['make.mjs'],
  ),
  {
    ...printing(
      'examples/cloudflare-worker',
      { ...example('cloudflare-worker'), 'make.mjs': inWorkerd('/?q=1,2,3,4&k=4,3,2,1&distance=0', '2025-05-05') },
      () => node,
      ['make.mjs'],
    ),
    gives: '{"together":20,"apart":20}',
  },
];

function requiring(code) {
  return `async function main() {\n${code.replace(/^import (.*) from '(.*)';$/m, "const $1 = require('$2');")}}\nmain();\n`;
}

const typed = (version) =>
  ['node16', 'nodenext', 'bundler'].map((resolution) => ({
    name: `TypeScript ${version}, ${resolution}`,
    entry: 'ropewalk',
    kind: 'types',
    files: {
      'package.json': '{ "private": true, "type": "module" }',
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          target: 'es2022',
          module: resolution === 'bundler' ? 'esnext' : resolution,
          moduleResolution: resolution,
          lib: ['es2022', 'dom', 'dom.iterable'],
          types: [],
          strict: true,
          exactOptionalPropertyTypes: true,
          noEmit: true,
        },
        include: ['main.ts'],
      }),
      'main.ts': `import { load, type RopePlan } from 'ropewalk';
import { load as external } from 'ropewalk/external';
import { loadModel, sample } from 'ropewalk/models';
import { load as threads } from 'ropewalk/threads';
import { wrap } from 'ropewalk/worker';
const rw = await load();
const plan: RopePlan = rw.rope({ headDim: 64 });
const x: Float32Array = plan.rotate(new Float32Array(64), { offset: 3 });
export const blob = new Blob([x.slice()]);
export const token: number = sample(x, { temperature: 0.5, seed: 1 });
export const all = [external, loadModel, threads, wrap];
// @ts-expect-error headDim is missing
rw.rope({});
`,
    },
    async run(folder) {
      await execute(node, [join(packageOf(`typescript${version.replace('.', '')}`), 'bin', 'tsc')], folder);
      return 'no error';
    },
  }));

const nexts = (entry) =>
  ['Turbopack', 'webpack'].flatMap((bundler) => ['client', 'server'].map((side) => next(bundler, side, entry)));

export const consumers = [
  ...programs,
  ...bundlers('ropewalk'),
  ...nexts('ropewalk'),
  {
    name: 'examples/next',
    entry: 'ropewalk',
    kind: 'page',
    files: example('next'),
    serve: (folder) => serveNext(folder),
    isReady: () => document.querySelector('output')?.textContent,
    gives: '-3.500 -3.000 -2.500 -2.000 -1.500 -1.000 -0.500 0.000',
  },
  ...bundlers('ropewalk/external'),
  ...runtimes(threadsEntry),
  ...bundlers(threadsEntry),
  ...nexts(threadsEntry),
  ...['5.4', '5.9', '6.0', '7.0'].flatMap(typed),
];
