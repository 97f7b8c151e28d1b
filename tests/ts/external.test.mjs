// ropewalk/external: the package with its WebAssembly in separate files, which are fetched over HTTP or read from disk.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import * as inline from 'ropewalk';
import * as external from 'ropewalk/external';
import { enableRelaxed } from '../vectors/builds.mjs';
import { assertSameBits, random } from './support/arrays.mjs';
import { notAChoice, notOptions } from './support/bad-values.mjs';
import { folderWith } from './support/folder.mjs';
import { root, run } from './support/node.mjs';

const relaxed = enableRelaxed();

test('it gives what the main entry gives', () => {
  const { load: _, ...others } = external;
  const { load, ...expected } = inline;
  assert.deepEqual(others, expected);
  assert.notEqual(external.load, load);
});

for (const simd of ['auto', 'deterministic']) {
  test(`load({ simd: '${simd}' }) runs the same build from a file`, async () => {
    const all = await Promise.all([inline.load({ simd }), external.load({ simd }), external.load({ simd })]);
    const x = random(64);
    const [first, ...others] = all.map((rw) => rw.rope({ headDim: 64 }).rotate(x, { offset: 12345 }));
    for (const each of others) assertSameBits(each, first);
    assert.deepEqual(all[1].info(), all[0].info());
    assert.equal(all[1].info().simd, simd === 'auto' && relaxed ? 'relaxed' : 'simd128');
    assert.ok(all[1] instanceof Object && all[1] !== all[2]);
  });
}

test('it refuses what the main entry refuses', async () => {
  for (const { value } of notOptions) await assert.rejects(external.load(value), inline.ArgumentTypeError);
  for (const { value, error } of notAChoice) await assert.rejects(external.load({ simd: value }), error);
});

// The package on a server whose answers for wasm are `answer`'s, seen from a process that imports it over a mocked
// fetch: a copy of dist whose own address is the server's.
async function served(t, answer) {
  const server = createServer((request, response) => answer(request, response));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = `http://127.0.0.1:${server.address().port}/`;
  const dist = join(root, 'dist');
  const code = readFileSync(join(dist, 'external.js'), 'utf8').replaceAll('import.meta.url', `'${address}'`);
  assert.ok(code.includes(address));
  const files = Object.fromEntries(
    readdirSync(dist)
      .filter((name) => /\.m?js$/.test(name))
      .map((name) => [name, readFileSync(join(dist, name), 'utf8')]),
  );
  const folder = folderWith(t, { ...files, 'external.js': code, 'package.json': '{"type":"module"}' });
  return import(join(folder, 'external.js'));
}

const wasm = (name) => readFileSync(join(root, 'dist', name));
const requested = (request) => request.url.slice(1);

for (const type of ['application/wasm', 'application/wasm; charset=utf-8', 'application/octet-stream']) {
  test(`it fetches one build, once, from a server that calls it ${type}`, async (t) => {
    const asked = [];
    const { load } = await served(t, (request, response) => {
      asked.push(requested(request));
      response.writeHead(200, { 'content-type': type }).end(wasm(requested(request)));
    });
    await Promise.all([load({ simd: 'deterministic' }), load({ simd: 'deterministic' })]);
    const rw = await load({ simd: 'deterministic' });
    assert.deepEqual(asked, ['core.wasm']);
    assert.equal(rw.info().simd, 'simd128');
  });
}

function oldBuild() {
  const bytes = Buffer.from(wasm('core.wasm'));
  return bytes.fill(48, bytes.length - 4); // of the hash at its end
}

const failures = {
  'a file that is not there': [(response) => response.writeHead(404).end(), /core\.wasm answered 404; serve this file/],
  'a page in place of the file': [
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>'),
    /answered text\/html that is no WebAssembly/,
  ],
  'a file of another version': [
    (response) => response.writeHead(200, { 'content-type': 'application/wasm' }).end(oldBuild()),
    /core\.wasm is not this build of this version/,
  ],
  'a connection that breaks': [(response) => response.destroy(), /core\.wasm cannot be fetched/],
};
for (const [what, [fail, message]] of Object.entries(failures)) {
  test(`${what} is told as what it is, and the next load tries again`, async (t) => {
    let works = false;
    const { load } = await served(t, (request, response) => {
      if (!works) return fail(response);
      response.writeHead(200, { 'content-type': 'application/wasm' }).end(wasm(requested(request)));
    });
    await assert.rejects(load({ simd: 'deterministic' }), (error) => {
      assert.equal(error.name, 'UnsupportedError');
      assert.match(error.message, message);
      return true;
    });
    works = true;
    assert.equal((await load({ simd: 'deterministic' })).info().simd, 'simd128');
  });
}

const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
test('Vite builds a page with it: both files come along, and no build is in the JavaScript', {
  skip: !existsSync(vite) && 'no Vite here',
}, async (t) => {
  const folder = folderWith(t, {
    'package.json': '{"type":"module"}',
    'index.html': '<!doctype html><title>t</title><script type="module" src="/main.js"></script>',
    'main.js': "import { load } from 'ropewalk/external';\ndocument.title = (await load()).info().simd;",
  });
  const npm = (...args) => run(args, { command: 'npm', cwd: folder });
  await npm('pack', root, '--ignore-scripts');
  const [packed] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  await npm('install', `./${packed}`, '--offline', '--no-audit', '--no-fund', '--ignore-scripts');
  await run([vite, 'build'], { cwd: folder });
  const built = readdirSync(join(folder, 'dist'), { recursive: true }).map(String);
  assert.equal(built.filter((name) => name.endsWith('.wasm')).length, 2);
  const scripts = built.filter((name) => name.endsWith('.js')).map((name) => readFileSync(join(folder, 'dist', name)));
  const bytes = scripts.reduce((sum, script) => sum + script.length, 0);
  assert.ok(bytes < wasm('core.wasm').length, `${bytes} bytes`);
});
