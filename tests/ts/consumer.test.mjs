// A consumer's project: installs the packed package without a network, runs the README's example, and builds.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderWith } from './support/folder.mjs';
import { root, run } from './support/node.mjs';
import { writeSafetensors } from './support/safetensors.mjs';

// The first js block of the README, under the heading that promises ten lines.
function tenLines() {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const section = readme.split('\n## ').find((part) => part.startsWith('Ten lines'));
  const blocks = [...(section ?? '').matchAll(/^```js\n(.*?)^```$/gms)].map((match) => match[1]);
  assert.equal(blocks.length, 1, 'one js block under "Ten lines"');
  return blocks[0];
}

async function install(t, files) {
  const folder = folderWith(t, files);
  const npm = (...args) => run(args, { command: 'npm', cwd: folder });
  await npm('init', '-y');
  await npm('pack', root, '--ignore-scripts');
  const [packed] = readdirSync(folder).filter((name) => /^ropewalk-.*\.tgz$/.test(name));
  await npm('install', `./${packed}`, '--offline', '--no-audit', '--no-fund', '--ignore-scripts');
  assert.ok(existsSync(join(folder, 'node_modules', 'ropewalk', 'dist', 'index.js')));
  return folder;
}

test('the ten lines of the README run in a fresh project', async (t) => {
  const code = tenLines();
  assert.ok(code.trim().split('\n').filter(Boolean).length <= 10, 'ten lines are ten lines');
  const folder = await install(t, { 'ten-lines.mjs': code });
  const { stdout, stderr } = await run(['ten-lines.mjs'], { cwd: folder });
  assert.match(stdout, /\[ 8, 128, 64 \] \[ 1, 8, 128, 128 \] (simd128|relaxed)/);
  assert.equal(stderr, '');
});

test('the ten lines run where require() is used', async (t) => {
  const body = tenLines().replace(/import (.*) from 'ropewalk';/, '');
  const code = `import('ropewalk').then(async ({ load }) => {${body}});`;
  const folder = await install(t, { 'ten-lines.cjs': code });
  const { stdout } = await run(['ten-lines.cjs'], { cwd: folder });
  assert.match(stdout, /\[ 8, 128, 64 \]/);
});

const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
test('Vite builds a page with it, and the wasm needs no file', {
  skip: !existsSync(vite) && 'no Vite here',
}, async (t) => {
  const folder = await install(t, {
    'index.html': '<!doctype html><title>t</title><script type="module" src="/main.js"></script>',
    'main.js': tenLines(),
  });
  const { stdout, stderr } = await run([vite, 'build'], { cwd: folder });
  assert.doesNotMatch(stdout + stderr, /externalized|warning|\berror/i);
  const built = readdirSync(join(folder, 'dist'), { recursive: true }).map(String);
  assert.deepEqual(
    built.filter((name) => /\.wasm$/.test(name)),
    [],
  );
  const bundles = built.filter((name) => name.endsWith('.js'));
  assert.equal(bundles.length, 1);
  assert.doesNotMatch(readFileSync(join(folder, 'dist', bundles[0]), 'utf8'), /\bnew URL\([^)]*wasm/);
});

test('Vite builds a page that opens files of weights, and says nothing of Node', {
  skip: !existsSync(vite) && 'no Vite here',
}, async (t) => {
  const folder = await install(t, {
    'index.html': '<!doctype html><title>t</title><script type="module" src="/main.js"></script>',
    'main.js': `import { load } from 'ropewalk';
import { openSafetensors } from 'ropewalk/models';
const file = await openSafetensors(await load(), '/model.safetensors');
document.title = file.names.join();`,
  });
  const { stdout, stderr } = await run([vite, 'build'], { cwd: folder });
  assert.doesNotMatch(stdout + stderr, /externalized|warning|\berror/i);
  const assets = join(folder, 'dist', 'assets');
  const importsOf = (name) =>
    [...readFileSync(join(assets, name), 'utf8').matchAll(/\b(?:from|import)\s*["'`]\.\/([^"'`]+)["'`]/g)].map(
      ([, to]) => to,
    );
  // What the page fetches before its first line runs: the static imports of its own file, and theirs.
  const first = new Set(readdirSync(assets).filter((name) => name.startsWith('index-')));
  for (const name of first) for (const to of importsOf(name)) first.add(to);
  const kinds = (names) => Array.from(names, (name) => name.replace(/-.{8}\.js$/, '')).sort();
  const isBundlers = (kind) => kind.includes('runtime');
  assert.deepEqual(
    kinds(first).filter((kind) => !isBundlers(kind)),
    ['index', 'shared-models'],
  );
  const later = ['beams', 'encoder', 'encoder-decoder', 'experiments', 'families', 'gguf'].map(
    (name) => `shared-${name}`,
  );
  // Of families there may be two: one that is imported, and one that has what others need of it.
  assert.deepEqual([...new Set(kinds(readdirSync(assets).filter((name) => !first.has(name))))], later);
});

test('a path is opened where the package is installed', async (t) => {
  const folder = await install(t, {
    'open.mjs': `import { load } from 'ropewalk';
import { openSafetensors } from 'ropewalk/models';
const file = await openSafetensors(await load(), 'model.safetensors');
console.log(file.names, await file.tensor('w'));`,
    'model.safetensors': writeSafetensors({ w: { dtype: 'F32', shape: [2], data: Float32Array.of(1, 2) } }),
  });
  const { stdout } = await run(['open.mjs'], { cwd: folder });
  assert.equal(stdout, "[ 'w' ] Float32Array(2) [ 1, 2 ]\n");
});
