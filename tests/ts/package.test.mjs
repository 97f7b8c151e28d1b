// The published package: the files that it contains and those that it must not.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { ropeFromConfig } from 'ropewalk';
import { root, run } from './support/node.mjs';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const dist = readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, path, name }) => relative(join(root, 'dist'), join(parentPath ?? path, name)));
const scripts = dist.filter((name) => /\.m?js$/.test(name));
const sourceOf = (name) => readFileSync(join(root, 'dist', name), 'utf8');
const codeOf = (name) => sourceOf(name).replace(/\/\*.*?\*\//gs, '');

// The files that one needs, itself among them.
function reachedFrom(entry) {
  const reached = new Set();
  const follow = (name) => {
    if (reached.has(name)) return;
    reached.add(name);
    for (const [, path] of codeOf(name).matchAll(/from\s*"\.\/([^"]+)"/g)) follow(path);
  };
  follow(entry);
  return [...reached];
}

const packed = async () => {
  const { stdout } = await run(['pack', '--dry-run', '--json', '--ignore-scripts'], { command: 'npm' });
  const [{ files }] = JSON.parse(stdout);
  return files.map(({ path }) => path);
};
const errors = readdirSync(join(root, 'docs', 'errors')).map((name) => `docs/errors/${name}`);
const documents = ['calls', 'compatibility', 'external', 'models', 'threads'].map((name) => `docs/${name}.md`);
const docs = [...errors, ...documents];
const stubs = ['external', 'models', 'threads', 'training', 'worker'].map((entry) => `${entry}/package.json`);

test('the package holds dist, stubs of its entries, its documents, README, LICENSE and package.json, and nothing else', async () => {
  const code = dist.map((name) => `dist/${name}`);
  const expected = ['LICENSE', 'README.md', 'package.json', ...stubs, ...docs, ...code];
  assert.deepEqual((await packed()).sort(), expected.sort());
});

test('no document of the package links to one that it lacks', async () => {
  const files = await packed();
  for (const document of ['README.md', ...docs]) {
    const text = readFileSync(join(root, document), 'utf8');
    const links = [...text.matchAll(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, target]) => target);
    for (const target of links.filter((each) => !/^https:/.test(each))) {
      const [path, heading] = target.split('#');
      const file = path === '' ? document : join(dirname(document), path);
      assert.ok(files.includes(file), `${document} links to ${target}`);
      if (heading === undefined) continue;
      const headings = readFileSync(join(root, file), 'utf8').match(/^#+ .*$/gm) ?? [];
      const anchors = headings.map((line) => line.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-'));
      assert.ok(anchors.includes(heading), `${document} links to ${target}`);
    }
  }
});

test('dist holds code, types, the two builds and one script only', () => {
  const kinds = new Set(dist.map((name) => name.replace(/^[^.]+/, '*')));
  assert.deepEqual([...kinds].sort(), ['*.d.ts', '*.global.js', '*.js', '*.wasm']);
  assert.deepEqual(dist.filter((name) => name.endsWith('.wasm')).sort(), ['core-relaxed.wasm', 'core.wasm']);
});

test('the package needs no other and runs nothing when it is installed', () => {
  for (const kind of ['dependencies', 'optionalDependencies', 'bundleDependencies']) {
    assert.equal(manifest[kind], undefined, kind);
  }
  // Told, so that versions that do not go together are found out; only examples import it.
  assert.deepEqual(Object.keys(manifest.peerDependencies), ['@huggingface/tokenizers']);
  assert.deepEqual(manifest.peerDependenciesMeta, { '@huggingface/tokenizers': { optional: true } });
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare']) {
    assert.equal(manifest.scripts[script], undefined, script);
  }
});

test('every entry of the package leads to a file in it', () => {
  const targetsOf = (entry) => (typeof entry === 'string' ? entry : Object.values(entry).flatMap(targetsOf));
  const targets = targetsOf(manifest.exports);
  for (const target of [...targets, manifest.main, manifest.types]) {
    const path = target.replace(/^\.\//, '');
    assert.ok(path === 'package.json' || dist.includes(path.replace(/^dist\//, '')), target);
  }
});

test('a stub leads where the entry of its name leads', () => {
  for (const stub of stubs) {
    const { main, types } = JSON.parse(readFileSync(join(root, stub), 'utf8'));
    const { types: declarations, default: code } = manifest.exports[`./${dirname(stub)}`];
    assert.deepEqual([main, types], [`.${code}`, `.${declarations}`]);
  }
});

test('the code imports its own files only', () => {
  for (const name of scripts) {
    const statements = codeOf(name).matchAll(/^(?:import|export)\s[^'";=()]*?from\s*['"]([^'"]+)['"]/gm);
    const imports = [...statements].map((match) => match[1]);
    for (const path of imports) assert.ok(dist.includes(path.replace(/^\.\//, '')), `${name} imports ${path}`);
  }
});

test("the core is bound by a library of the package's own", () => {
  for (const name of scripts) assert.doesNotMatch(codeOf(name), /BindingError|UnboundTypeError|fromWireType/, name);
});

// One other character, and engines keep all of a bundle, the base64 as well, in two bytes a character.
test('the code is ASCII', () => {
  for (const name of scripts) assert.doesNotMatch(sourceOf(name), /[^\0-\x7f]/, name);
});

// What a Content-Security-Policy, a bundler or another runtime would trip over.
const unwanted = {
  'evaluates text': /\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(/,
  'looks for its own address': /\bimport\.meta\b|\b__dirname\b|\b__filename\b/,
  'asks for Node': /\brequire\s*\(|['"]node:|\bprocess\.(?:on|once|exit|env)\b/,
  'starts workers or shares memory': /\bnew\s+(?:Shared)?Worker\b|\bSharedArrayBuffer\b/,
};
// Each has its one reason: files are asked for when one is opened, in an import that no bundler follows; and the entries
// whose wasm lies beside them have to say where. The one for Node falls back, and is nobody's but Node's. The entries with
// threads start workers of a file beside them, or of Node.
const mayAskForNode = 'shared-core.js';
const exceptions = {
  'asks for Node': [mayAskForNode, 'shared-threads.js', 'thread.js'],
  'looks for its own address': ['external.js', 'node.js', 'shared-threads.js'],
  'starts workers or shares memory': ['shared-threads.js'],
};
for (const [what, pattern] of Object.entries(unwanted)) {
  test(`no code in dist ${what}`, () => {
    for (const name of scripts) {
      if (exceptions[what]?.includes(name)) continue;
      const found = codeOf(name).match(pattern);
      const around = found && codeOf(name).slice(found.index - 40, found.index + 60);
      assert.equal(around, null, name);
    }
  });
}

test('Node is asked for in one place, and by no import that a bundler follows', () => {
  const code = sourceOf(mayAskForNode);
  const imports = code.match(/\bimport\s*\([^)]*\)/g).map((each) => each.replace(/\s+/g, ' '));
  assert.deepEqual(imports, ['import( /* @vite-ignore */ /* webpackIgnore: true */ name )']);
  assert.doesNotMatch(code, /^import\b[^;]*\bnode:/m);
});

test('the entry with files beside it names them as bundlers look for them', () => {
  const addresses = codeOf('external.js').match(/new URL\([^)]*import\.meta[^)]*\)/g);
  assert.deepEqual(
    addresses,
    ['core', 'core-relaxed'].map((name) => `new URL("./${name}.wasm", import.meta.url)`),
  );
});

test('the entries with files beside them do without the builds inside', () => {
  const holdsBuilds = (name) => /[A-Za-z0-9+/]{1000}/.test(sourceOf(name));
  for (const entry of ['external.js', 'node.js']) assert.deepEqual(reachedFrom(entry).filter(holdsBuilds), [], entry);
  assert.deepEqual(reachedFrom('index.js').filter(holdsBuilds), ['inline.js']);
});

test('the main entry begins with the builds, so that the code of a bundle lies together', () => {
  assert.match(codeOf('index.js'), /^import [^;]* from "\.\/inline\.js"/);
});

test('the main entry does without the files of weights', () => {
  const readsWeights = (name) => /function openSafetensors\b/.test(codeOf(name));
  assert.deepEqual(reachedFrom('index.js').filter(readsWeights), []);
  assert.ok(reachedFrom('models.js').some(readsWeights));
});

test('the main entry knows the rotary encodings of the families, and has none of their code', () => {
  const readsFamilies = (name) => /function readDecoder\b/.test(codeOf(name));
  assert.deepEqual(reachedFrom('index.js').filter(readsFamilies), []);
  assert.ok(reachedFrom('models.js').some(readsFamilies));
  assert.equal(ropeFromConfig({ model_type: 'smollm3', head_dim: 64 }).base, 2e6);
});

test('an entry is a few files', () => {
  for (const entry of ['index', 'node', 'external', 'models', 'training', 'worker']) {
    const code = reachedFrom(`${entry}.js`).filter((name) => !/inline\.js$/.test(name)); // the builds
    // Two files of models: readModelConfig, and the families that it alone needs at once.
    assert.ok(code.length <= ({ models: 7, training: 4 }[entry] ?? 3), entry);
  }
});

test('the declarations show nothing that is internal', () => {
  for (const name of dist.filter((each) => each.endsWith('.d.ts'))) {
    assert.doesNotMatch(sourceOf(name), /@internal|core\.mjs/, name);
  }
});

test('the declarations of an entry name the values that it exports', async () => {
  for (const entry of ['index', 'external', 'models', 'training', 'worker']) {
    const text = sourceOf(`${entry}.d.ts`);
    const passedOn = [...text.matchAll(/^export \{ (.*) \} from/gm)].flatMap(([, names]) => names.split(', '));
    const own = [...text.matchAll(/^export declare (?:class|const|function) (\w+)/gm)].map(([, name]) => name);
    const values = Object.keys(await import(`../../dist/${entry}.js`));
    assert.deepEqual([...new Set([...passedOn, ...own])].sort(), values.sort(), entry);
  }
});

test('an entry has one file of declarations, and all share another', () => {
  const expected = [
    'external.d.ts',
    'index.d.ts',
    'models.d.ts',
    'shared.d.ts',
    'threads.d.ts',
    'training.d.ts',
    'worker.d.ts',
  ];
  assert.deepEqual(dist.filter((name) => name.endsWith('.d.ts')).sort(), expected);
});
