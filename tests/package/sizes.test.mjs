// Budgets for what is downloaded: the tarball by an install, bundles by a page. kB are 1000 bytes; bundles are minified
// by esbuild and compressed by gzip -9. Of models, a page that loads a decoder from safetensors downloads what loadModel
// imports in any case; an encoder, a GGUF file or an experiment adds a part of the rest.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { root } from '../ts/support/node.mjs';
import { splitBundle } from './bundlers.mjs';
import { paths, projectFile, size, target } from './packed.mjs';

// Most kB, and where that is not reached, the goal. The tarball has the wasm four times, in 115 kB each: in the
// JavaScript, as a file for either build, and in the script for pages without modules. Gzip finds no repetition that far
// apart. The goals are older than threads, training and quantized weights: without any wasm of the core the tarball has
// 440 kB, as the first test prints.
const budgets = {
  tarball: { most: 1055, goal: 400 },
  'default entry, one plan': { most: 184, goal: 165 },
  'external entry, one plan, without the wasm': { most: 55.1, goal: 40 },
  'core.wasm': { most: 115.5, goal: 100 },
  'core-relaxed.wasm': { most: 117.4, goal: 100 },
  'ropewalk.global.js': { most: 260.5 },
  'models on top of the default entry': { most: 31.2, goal: 25 },
  'models with encoders, GGUF files and all families': { most: 59.2 },
  'what runs decoders behind encoders, on top of that': { most: 4 },
  'beams, on top of that': { most: 1.5 },
};

function assertWithin(what, bytes) {
  const { most, goal } = budgets[what];
  const kilobytes = bytes / 1000;
  console.log(`${kilobytes.toFixed(1)} kB of ${most}${goal === undefined ? '' : `, goal ${goal}`}: ${what}`);
  assert.ok(kilobytes <= most, `${what}: ${kilobytes} kB; expected at most ${most}`);
}

// What the tarball is made of: the part of a file is the first whose pattern fits.
const parts = [
  ['wasm, as files', /\.wasm$/],
  ['wasm, in JavaScript', /dist\/inline\.js$/],
  ['all of it for pages without modules', /global\.js$/],
  ['declarations', /\.d\.ts$/],
  ['threads', /dist\/.*thread/],
  ['training', /dist\/training/],
  ['models', /dist\/(shared-)?(beams|config|encoder|encoder-decoder|experiments|families|gguf|ids|models)\.js$/],
  ['the rest of the JavaScript', /dist\//],
  ['documentation and package.json', /./],
];
const partOf = (path) => parts.find(([, pattern]) => pattern.test(path))[0];

const zipped = (content) => gzipSync(content, { level: 9 }).length;

const plan = (entry, more = '') => `import { load } from '${entry}';${more}
const rw = await load();
console.log(rw.rope({ headDim: 64 }).rotate(new Float32Array(64), { offset: 1 }));`;
const entries = {
  'main.mjs': plan('ropewalk'),
  'external.mjs': plan('ropewalk/external'),
  'models.mjs': plan('ropewalk', "import { loadModel } from 'ropewalk/models'; globalThis.loadModel = loadModel;"),
};

describe('within its budget is', () => {
  test('the tarball', () => {
    const sizes = Object.fromEntries(parts.map(([part]) => [part, 0]));
    for (const path of paths) sizes[partOf(path)] += zipped(readFileSync(join(target, path)));
    for (const [part, bytes] of Object.entries(sizes)) console.log(`  ${(bytes / 1000).toFixed(1)} kB: ${part}`);
    assertWithin('tarball', size);
  });

  test('each bundle', async () => {
    const [main, external, models] = await Promise.all(
      Object.entries(entries).map(([file, code]) => splitBundle(projectFile(file, code))),
    );
    const sum = (files) => files.reduce((bytes, { text }) => bytes + zipped(text), 0);
    assertWithin('default entry, one plan', sum(main));
    assertWithin('external entry, one plan, without the wasm', sum(external));
    assertWithin('models on top of the default entry', sum(models.filter(({ atStart }) => atStart)) - sum(main));
    const part = (name) => sum(models.filter((file) => file.name.startsWith(`shared-${name}`)));
    const [both, beams] = [part('encoder-decoder'), part('beams')];
    assertWithin('what runs decoders behind encoders, on top of that', both);
    assertWithin('beams, on top of that', beams);
    assertWithin('models with encoders, GGUF files and all families', sum(models) - both - beams - sum(main));
  });

  for (const file of ['core.wasm', 'core-relaxed.wasm', 'ropewalk.global.js']) {
    test(file, () => assertWithin(file, zipped(readFileSync(join(target, 'dist', file)))));
  }
});

test('the tarball holds these files', () => {
  const entries = ['external', 'index', 'models', 'threads', 'training', 'worker'];
  const shared = [
    'beams',
    'config',
    'core',
    'encoder',
    'encoder-decoder',
    'errors',
    'experiments',
    'families',
    'gguf',
    'ids',
    'models',
    'threaded-build',
    'threaded-training',
    'threads',
  ].map((name) => `shared-${name}`);
  const code = [...entries, 'inline', 'node', 'ropewalk.global', 'thread', 'training-inline', ...shared].map(
    (name) => `${name}.js`,
  );
  const types = [...entries, 'shared'].map((name) => `${name}.d.ts`);
  const expected = [
    ...[
      'LICENSE',
      'README.md',
      'package.json',
      'docs/calls.md',
      'docs/compatibility.md',
      'docs/external.md',
      'docs/models.md',
      'docs/threads.md',
    ],
    ...readdirSync(join(root, 'docs', 'errors')).map((name) => `docs/errors/${name}`),
    ...['external', 'models', 'threads', 'training', 'worker'].map((entry) => `${entry}/package.json`),
    ...[...code, ...types, 'core.wasm', 'core-relaxed.wasm'].map((name) => `dist/${name}`),
  ];
  console.log(`${paths.length} files: ${paths.join(', ')}`);
  assert.deepEqual(paths, expected.sort());
});
