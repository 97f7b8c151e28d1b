// ropewalk/external: the package with its WebAssembly in separate files, which are fetched over HTTP or read from disk.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import * as inline from 'ropewalk';
import * as external from 'ropewalk/external';
import { enableRelaxed } from '../vectors/builds.mjs';
import { assertSameBits, detached, random } from './support/arrays.mjs';
import { notAChoice, notOptions } from './support/bad-values.mjs';
import { folderWith } from './support/folder.mjs';
import { root, run } from './support/node.mjs';
import { serve } from './support/server.mjs';

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

// A copy of the package in a folder without its wasm, with `import.meta.url` of its external entry replaced.
async function copied(t, replace) {
  const dist = join(root, 'dist');
  const code = replace(readFileSync(join(dist, 'external.js'), 'utf8'));
  const files = Object.fromEntries(
    readdirSync(dist)
      .filter((name) => /\.m?js$/.test(name))
      .map((name) => [name, readFileSync(join(dist, name), 'utf8')]),
  );
  const folder = folderWith(t, { ...files, 'external.js': code, 'package.json': '{"type":"module"}' });
  return import(join(folder, 'external.js'));
}

const at = (address) => (code) => {
  assert.equal(code.split('import.meta.url').length, 3);
  return code.replaceAll('import.meta.url', address);
};

const serverOf = async (t, answer) => `${(await serve(t, answer)).url}/`;

// The package on a server whose answers for wasm are `answer`'s, as a process imports it: the copy's own address is on
// the server.
async function served(t, answer, path = '') {
  return copied(t, at(`'${await serverOf(t, answer)}${path}'`));
}

const wasm = (name) => readFileSync(join(root, 'dist', name));
const requested = (request) => request.url.split('/').at(-1);
const send = (response, body, type = 'application/wasm') => response.writeHead(200, { 'content-type': type }).end(body);

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
const otherModule = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);

const refused = (loading, error, message) =>
  assert.rejects(loading, (thrown) => {
    assert.ok(thrown instanceof error, `${thrown.name}: ${thrown.message}`);
    assert.match(thrown.message, message);
    return true;
  });

// What is served in place of core.wasm, and what is said of it after the address. For bytes that the caller gives, the
// same is said after `wasm`.
const wrongFiles = {
  'a page': ['<!doctype html>', /is no WebAssembly: it begins with "<!doctype html>"/],
  'an empty file': ['', /is empty/],
  'a file that is cut': [wasm('core.wasm').subarray(0, 5000), /does not compile: WebAssembly\./],
  'a file of another version': [oldBuild(), /is of another version than the code, \d+\.\d+\.\d+/],
  'another module': [otherModule, /is another WebAssembly module/],
};
const copyIt = /; copy it from ropewalk\/dist, or tell load\(\) where it is: load\(\{ url \}\), or import 'ropewalk'/;
const failures = {
  'a file that is not there': [(response) => response.writeHead(404).end(), /core\.wasm answered 404; copy/],
  'a page in place of the file': [
    (response) => send(response, '<!doctype html>', 'text/html'),
    /core\.wasm answered text\/html, which is no WebAssembly: it begins with "<!doctype html>"; copy/,
  ],
  'a page that is called wasm': [
    (response) => send(response, '<!doctype html>'),
    /core\.wasm does not compile: WebAssembly\..*3c 21/,
  ],
  'the other build': [
    (response) => send(response, wasm('core-relaxed.wasm')),
    relaxed ? /core\.wasm is the relaxed build, in place of the simd128 one/ : /core\.wasm does not compile/,
  ],
  'a connection that breaks': [(response) => response.destroy(), /core\.wasm cannot be fetched \(.*connect-src\)/],
  'a connection that breaks within the file': [
    (response) => {
      response.writeHead(200, { 'content-length': 10_000 }).write('not yet', () => response.destroy());
    },
    /core\.wasm broke off/,
  ],
  'a connection that breaks while the file is compiled': [
    (response) => {
      const [type, all] = ['application/wasm', wasm('core.wasm')];
      response.writeHead(200, { 'content-type': type, 'content-length': all.length });
      response.write(all.subarray(0, all.length / 2), () => response.destroy());
    },
    /core\.wasm broke off/,
  ],
};
for (const [what, [body, problem]] of Object.entries(wrongFiles)) {
  failures[`${what} of no type`] = [(response) => response.end(body), new RegExp(`core\\.wasm .*${problem.source}`)];
}
for (const [what, [fail, message]] of Object.entries(failures)) {
  test(`${what} is named with its address and the fix, and the next load tries again`, async (t) => {
    let works = false;
    const { load, UnsupportedError } = await served(t, (request, response) =>
      works ? send(response, wasm(requested(request))) : fail(response),
    );
    const loading = load({ simd: 'deterministic' });
    await refused(loading, UnsupportedError, new RegExp(`^load: http://127\\.0\\.0\\.1:\\d+/${message.source}`));
    await assert.rejects(loading, copyIt);
    works = true;
    assert.equal((await load({ simd: 'deterministic' })).info().simd, 'simd128');
  });
}

test("where Vite's dev server leaves the file out, the error names the setting", async (t) => {
  const answer = (_, response) => send(response, '<!doctype html>', 'text/html');
  const { load, UnsupportedError } = await served(t, answer, 'node_modules/.vite/deps/ropewalk_external.js');
  const message =
    /\.vite\/deps\/core.*\.wasm answered text\/html.*; in Vite's .* optimizeDeps: \{ exclude: \['ropewalk'\] \}/;
  await refused(load(), UnsupportedError, message);
});

for (const address of ['undefined', "'blob:http://localhost/1'", "'data:text/javascript,0'"]) {
  test(`where import.meta.url is ${address}, the error says so and names the fix`, async (t) => {
    const { load, UnsupportedError } = await copied(t, at(address));
    const message =
      /^load: the (relaxed|simd128) build has no address, because .* missing.*load\(\{ url \}\), or import 'ropewalk'/;
    await refused(load(), UnsupportedError, message);
    await load({ wasm: wasm('core.wasm') });
  });
}

test('an address that a bundler made relative is named, with the setting of Next', async (t) => {
  const { load, UnsupportedError } = await copied(t, (code) =>
    code.replaceAll(
      /new URL\("\.\/core(-relaxed)?\.wasm", import\.meta\.url\)/g,
      "'/_next/static/media/core.1a2b.wasm'",
    ),
  );
  const message =
    /^load: \/_next\/static\/media\/core\.1a2b\.wasm is no full address; .* serverExternalPackages: \['ropewalk'\]/;
  await refused(load(), UnsupportedError, message);
});

test('a file that does not lie beside the code is named, with its cause', async (t) => {
  const { load, UnsupportedError } = await copied(t, (code) => code);
  await refused(
    load({ simd: 'deterministic' }),
    UnsupportedError,
    /^load: file:\/\/.*\/core\.wasm cannot be read; copy/,
  );
  await assert.rejects(load({ simd: 'deterministic' }), ({ cause }) => cause.code === 'ENOENT');
});

// url and wasm: files that do not lie beside the code.
const { load, ArgumentRangeError, ArgumentTypeError, UnsupportedError } = external;
const fileUrl = (name) => pathToFileURL(join(root, 'dist', name));
const best = relaxed ? 'relaxed' : 'simd128';

for (const type of ['application/wasm', 'application/octet-stream']) {
  test(`a Response of ${type} that a signal ends is told as that, whatever its reason`, async (t) => {
    const address = await serverOf(t, (_, response) => {
      const all = wasm('core.wasm');
      response.writeHead(200, { 'content-type': type, 'content-length': all.length });
      response.write(all.subarray(0, all.length / 2));
    });
    const controller = new AbortController();
    const response = await fetch(address, { signal: controller.signal });
    const loading = load({ wasm: response });
    controller.abort(new Error('enough'));
    await refused(loading, UnsupportedError, /^load: http:\/\/127\.0\.0\.1:\d+\/ broke off: /);
  });
}
const fileOf = { simd128: 'core.wasm', relaxed: 'core-relaxed.wasm' };
const runnable = Object.entries(fileOf).filter(([build]) => build === 'simd128' || relaxed);

async function files(t) {
  const asked = [];
  const address = await serverOf(t, (request, response) => {
    asked.push(requested(request));
    send(response, wasm(requested(request)));
  });
  return { address, asked };
}

test('load({ url }) takes one address for every engine, and fetches it once', async (t) => {
  const { address, asked } = await files(t);
  for (const [build, file] of runnable) {
    const url = `${address}${file}`;
    const all = await Promise.all([load({ url }), load({ url: new URL(url) })]);
    for (const rw of all) assert.equal(rw.info().simd, build);
    assertSameBits(...all.map((rw) => rw.sinusoidal({ dim: 8, positions: [12345] })));
  }
  assert.deepEqual(
    asked,
    runnable.map(([, file]) => file),
  );
});

test('load({ url }) takes an address for each build, and fetches the one that it runs', async (t) => {
  const { address, asked } = await files(t);
  const url = { simd128: `${address}core.wasm`, relaxed: new URL('core-relaxed.wasm', address) };
  assert.equal((await load({ url })).info().simd, best);
  assert.equal((await load({ url, simd: 'deterministic' })).info().simd, 'simd128');
  assert.deepEqual(asked, relaxed ? ['core-relaxed.wasm', 'core.wasm'] : ['core.wasm']);
  const swapped = { simd128: url.relaxed, relaxed: url.simd128 };
  await refused(load({ url: swapped, simd: 'deterministic' }), UnsupportedError, /core-relaxed\.wasm (is|does not)/);
});

test('load({ url }) reads a file, and data in an address', async () => {
  assert.equal((await load({ url: fileUrl('core.wasm') })).info().simd, 'simd128');
  const data = `data:application/wasm;base64,${wasm('core.wasm').toString('base64')}`;
  assert.equal((await load({ url: data })).info().simd, 'simd128');
  await refused(load({ url: 'data:,no' }), UnsupportedError, /^load: data:,no answered .*it begins with "no"/);
});

const ways = {
  'an ArrayBuffer': (bytes) => Uint8Array.from(bytes).buffer,
  'a Buffer': (bytes) => bytes,
  'a DataView': (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
  'bytes of another realm': (bytes) => runInNewContext('Uint8Array.from(bytes)', { bytes }),
  'a promise of bytes': async (bytes) => bytes,
  'a Response': (bytes) => new Response(bytes, { headers: { 'content-type': 'application/wasm' } }),
  'a Response of no type': (bytes) => new Response(bytes),
  'a promise of a Response': async (bytes) => new Response(bytes),
  'a URL': (_, file) => fileUrl(file),
};
for (const [what, make] of Object.entries(ways)) {
  test(`load({ wasm }) takes ${what}, and runs the build that it is`, async () => {
    for (const [build, file] of runnable) {
      const rw = await load({ wasm: make(wasm(file), file) });
      assert.equal(rw.info().simd, build);
      const x = random(8);
      const [got, expected] = [rw, await inline.load({ module: new WebAssembly.Module(wasm(file)) })].map((each) =>
        each.rope({ headDim: 8 }).rotate(x, { offset: 3 }),
      );
      assertSameBits(got, expected);
    }
  });
}

test('bytes are given back as they were', async () => {
  const bytes = Uint8Array.from(wasm('core.wasm'));
  await load({ wasm: bytes });
  assert.ok(Buffer.from(bytes).equals(wasm('core.wasm')));
});

test("simd: 'deterministic' excludes a relaxed file, and the error names the argument", {
  skip: !relaxed && 'this runtime has no relaxed SIMD',
}, async () => {
  const choices = { wasm: wasm('core-relaxed.wasm'), url: fileUrl('core-relaxed.wasm') };
  for (const [name, value] of Object.entries(choices)) {
    const message = new RegExp(`^load: ${name} is the relaxed build, which simd: 'deterministic' excludes`);
    await refused(load({ [name]: value, simd: 'deterministic' }), ArgumentRangeError, message);
  }
});

for (const [what, [body, problem]] of Object.entries(wrongFiles)) {
  test(`load({ wasm }) refuses ${what}`, async () => {
    const expected = "; expected 'ropewalk/core.wasm' or 'ropewalk/core-relaxed.wasm' of version";
    const message = new RegExp(`^load: wasm ${problem.source}.*${expected}`, 's');
    await refused(load({ wasm: Buffer.from(body) }), ArgumentRangeError, message);
    await refused(load({ wasm: new Response(body) }), UnsupportedError, new RegExp(problem.source));
  });
}

const badWasm = {
  'an address as text': ['core.wasm', /wasm is "core\.wasm"; expected the bytes .* \(a text is for url\)/],
  'a number': [5, /wasm is 5; expected the bytes/],
  'a module': [new WebAssembly.Module(otherModule), /wasm is a Module; expected the bytes/],
  'a promise of nothing': [Promise.resolve(), /wasm is undefined; expected the bytes/],
  'bytes that were taken away': [detached(new Uint8Array(8)), /expected bytes that are not detached/],
};
for (const [what, [value, message]] of Object.entries(badWasm)) {
  test(`load({ wasm }) refuses ${what}`, () => refused(load({ wasm: value }), ArgumentTypeError, message));
}

test('load({ wasm }) refuses a Response that was read, that failed, or that did not come', async (t) => {
  const read = new Response(wasm('core.wasm'));
  await read.arrayBuffer();
  await refused(
    load({ wasm: read }),
    ArgumentTypeError,
    /wasm is a Response; expected a Response whose body is not read/,
  );
  const address = await serverOf(t, (_, response) => response.writeHead(404).end());
  await refused(
    load({ wasm: fetch(address) }),
    UnsupportedError,
    /^load: http:\/\/127\.0\.0\.1:\d+\/ answered 404; serve/,
  );
  const never = load({ wasm: fetch('http://') });
  await refused(never, UnsupportedError, /^load: the promise given as wasm was rejected: .*http:\/\/.*; serve/);
});

const badUrls = {
  'what cannot be parsed': ['http://', UnsupportedError, /^load: http:\/\/ is no full address; serve/],
  'a path without a page': ['/core.wasm', UnsupportedError, /^load: \/core\.wasm is no full address; serve/],
  'a number': [5, ArgumentTypeError, /url is 5; expected an address/],
  'a list': [['core.wasm'], ArgumentTypeError, /url is Array\(1\); expected/],
  'one build only': [{ simd128: 'core.wasm' }, ArgumentTypeError, /url\.relaxed is undefined; expected an address/],
  'an unknown build': [{ simd128: 'a', relaxed: 'b', scalar: 'c' }, ArgumentRangeError, /url\.scalar is not an option/],
};
for (const [what, [url, error, message]] of Object.entries(badUrls)) {
  test(`load({ url }) refuses ${what}`, () => refused(load({ url }), error, message));
}

test('load takes one of url, wasm and module', async () => {
  const two = { url: 'core.wasm', wasm: wasm('core.wasm') };
  await refused(load(two), ArgumentRangeError, /^load: wasm is given beside url; give one of them/);
  const module = new WebAssembly.Module(wasm('core.wasm'));
  await refused(load({ module, url: 'core.wasm' }), ArgumentRangeError, /^load: url is given beside module/);
  assert.equal((await load({ module })).info().simd, 'simd128');
  await refused(load({ threads: 4 }), ArgumentRangeError, /known are simd, module, url, wasm$/);
});

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
