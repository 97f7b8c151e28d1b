// What load() says where a browser refuses the wasm or a server sends something else: one table, for each browser. The
// engine's own words differ; class, address and fix do not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { after, before, test } from 'node:test';
import { browsers, launchBoth } from './site.mjs';

const dist = new URL('../../dist/', import.meta.url);
const fileOf = (name) => readFileSync(new URL(name, dist));

const policyWith = (script, connect) =>
  `default-src 'none'; worker-src 'self'; script-src 'self'${script}; connect-src ${connect}`;
const policies = {
  'allows-wasm': policyWith(" 'wasm-unsafe-eval'", "'self'"),
  'no-wasm': policyWith('', "'self'"),
  'no-connect': policyWith(" 'wasm-unsafe-eval'", "'none'"),
  'any-connect': policyWith(" 'wasm-unsafe-eval'", '*'),
};

// What is sent in place of a wasm file: [type, body].
const answers = {
  right: (file) => ['application/wasm', fileOf(file)],
  octets: (file) => ['application/octet-stream', fileOf(file)],
  page: () => ['text/html', '<!doctype html>'],
  'page-as-wasm': () => ['application/wasm', '<!doctype html>'],
  old: (file) => {
    const bytes = fileOf(file);
    return ['application/wasm', bytes.fill(48, bytes.length - 4)]; // of the hash at its end
  },
  other: () => ['application/wasm', Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)],
};

// Ways to load, in the page.
const ways = `
const core = new URL('./core.wasm', import.meta.url);
const external = async (options) => (await import('./external.js')).load(options);
const compiledByWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./compile.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = worker.onmessageerror = reject;
  });
const ways = {
  inside: async () => (await import('./index.js')).load(),
  beside: () => external(),
  url: () => external({ url: core }),
  bytes: async () => external({ wasm: await (await fetch(core)).arrayBuffer() }),
  response: () => external({ wasm: fetch(core) }),
  elsewhere: () => external({ url: core.href.replace('127.0.0.1', 'localhost') }),
  unparsed: () => external({ url: 'http://' }),
  module: async () => external({ module: await compiledByWorker() }),
};
export async function tell(way) {
  try {
    const rw = await ways[way]();
    return 'runs ' + rw.info().simd + ' ' + rw.rope({ headDim: 2 }).rotate(Float32Array.of(1, 0), { offset: 0 })[0];
  } catch (error) {
    return error.name + ' ' + error.message;
  }
}`;
const compile = `postMessage(await WebAssembly.compileStreaming(fetch(new URL('./core.wasm', import.meta.url))));`;

// /<policy>/<answer>/<file of dist>
function respond(request, response) {
  const [, policy, answer, name] = request.url.split('/');
  const headers = { 'content-security-policy': policies[policy] };
  const script = () => response.writeHead(200, { 'content-type': 'text/javascript' });
  if (name === '') response.writeHead(200, { ...headers, 'content-type': 'text/html' }).end('<!doctype html>');
  else if (name === 'ways.js') script().end(ways);
  else if (name === 'compile.js') script().end(compile);
  else if (extname(name ?? '') === '.js') script().end(fileOf(name));
  else if (answer in answers && extname(name ?? '') === '.wasm') {
    const [type, body] = answers[answer](name);
    response.writeHead(200, { 'content-type': type }).end(body);
  } else response.writeHead(404).end();
}

const noWasm =
  /^UnsupportedError load: this page's Content-Security-Policy refuses WebAssembly; add 'wasm-unsafe-eval' to script-src/;
const runs = /^runs (simd128|relaxed) 1$/;
const fixed = "; (copy it|serve the file).*, or import 'ropewalk', which fetches nothing$";
const said = (address, problem) => new RegExp(`^UnsupportedError load: ${address} ${problem}.*${fixed}`);
const file = 'http://127\\.0\\.0\\.1:\\d+/[a-z-]+/[a-z-]+/core(-relaxed)?\\.wasm';

// [policy, answer, ways to load, what they say]
const table = [
  ['allows-wasm', 'right', ['inside', 'beside', 'url', 'bytes', 'response', 'module'], runs],
  ['allows-wasm', 'octets', ['beside', 'response'], runs],
  ['no-wasm', 'right', ['inside', 'beside', 'url', 'bytes', 'response'], noWasm],
  ['no-wasm', 'octets', ['beside'], noWasm],
  ['no-connect', 'right', ['inside'], runs],
  ['no-connect', 'right', ['beside', 'url'], said(file, 'cannot be fetched \\(.*connect-src\\)')],
  [
    'any-connect',
    'right',
    ['elsewhere'],
    said(file.replace('127\\.0\\.0\\.1', 'localhost'), 'cannot be fetched \\(.*CORS'),
  ],
  ['allows-wasm', 'missing', ['beside', 'url', 'response'], said(file, 'answered 404')],
  [
    'allows-wasm',
    'page',
    ['beside', 'url', 'response'],
    said(file, 'answered text/html, which is no WebAssembly: it begins with "<!doctype html>"'),
  ],
  ['allows-wasm', 'page-as-wasm', ['beside', 'url', 'response'], said(file, 'does not compile: ')],
  [
    'allows-wasm',
    'page',
    ['bytes'],
    /^ArgumentRangeError load: wasm is no WebAssembly: it begins with "<!doctype html>"/,
  ],
  ['allows-wasm', 'old', ['beside', 'url', 'response'], said(file, 'is of another version than the code, \\d')],
  ['allows-wasm', 'old', ['module'], /^ArgumentTypeError load: module is a Module; expected .* of this version$/],
  ['allows-wasm', 'other', ['beside', 'url', 'response'], said(file, 'is another WebAssembly module')],
  ['allows-wasm', 'right', ['unparsed'], said('http://', 'is no full address')],
];

let both;
let server;
before(async () => {
  server = createServer(respond);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  both = await launchBoth({ inWhole: true });
});
after(async () => {
  await both?.close();
  server.close();
  server.closeAllConnections();
});

for (const name of browsers) {
  for (const [policy, answer, ways, said] of table) {
    test(`under ${policy} with ${answer} files, load() by ${ways.join(', ')} (${name})`, async () => {
      const address = `http://127.0.0.1:${server.address().port}/${policy}/${answer}/`;
      const page = await both.newPage(name);
      await page.goto(address);
      for (const way of ways) {
        const tell = async ([module, way]) => (await import(module)).tell(way);
        assert.match(await page.evaluate(tell, [`${address}ways.js`, way]), said, way);
      }
      await page.close();
    });
  }
}
