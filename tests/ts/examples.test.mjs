// Compiles every example in the documentation of the package against its declarations, and runs it. Files and addresses
// are those of tiny models.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ggufOf } from '../models/tiny/gguf.mjs';
import { tinyModel } from '../models/tiny/models.mjs';
import { examples, folderOf, moduleOf, special } from './support/examples.mjs';
import { folderWith } from './support/folder.mjs';
import { root, run } from './support/node.mjs';
import { writeSafetensors } from './support/safetensors.mjs';
import { sendRange, serve } from './support/server.mjs';
import { fileOfModel, tinyBert, tinyLlama, tinyRoformer } from './support/tiny-models.mjs';

const long = { max_position_embeddings: 8192 };
const filesOf = (model, more = {}) => ({
  'config.json': JSON.stringify(model.config),
  'model.safetensors': fileOfModel(model),
  ...more,
});
const float32 = (...shape) => {
  return { dtype: 'F32', shape, data: new Float32Array(shape.reduce((a, b) => a * b, 1)) };
};
const llama = filesOf(tinyLlama({ ...long, eos_token_id: 2 }), {
  'golden.safetensors': writeSafetensors({ logits: float32(3, 41) }),
  'table.safetensors': writeSafetensors({ 'embeddings.weight': float32(32, 768) }),
});
const gguf = ggufOf(tinyLlama(long));
const working = {
  llama: { ...llama, 'SmolLM2-135M/config.json': llama['config.json'] },
  bert: filesOf(tinyBert({ vocab_size: 8000 })),
  roformer: filesOf(tinyRoformer()),
  't5-both': filesOf(tinyModel('t5-both')),
};

const compilerOptions = {
  ...{ target: 'es2022', module: 'nodenext', lib: ['es2022', 'dom', 'dom.iterable', 'esnext.disposable'] },
  ...{ types: ['node'], typeRoots: [join(root, 'node_modules', '@types')] },
  ...{ strict: true, noUncheckedIndexedAccess: true, outDir: 'out', rootDir: '.' },
};
const served = {
  ...llama,
  'model-Q4_K_M.gguf': gguf,
  'model-Q8_0.gguf': gguf,
  'core.wasm': readFileSync(join(root, 'dist', 'core.wasm')),
};
const all = examples().map((example, number) => ({ ...example, file: `example${number}` }));
const { url } = await serve({ after }, (request, response) => {
  const name = new URL(request.url, 'http://localhost').pathname.split('/').at(-1);
  sendRange(request, response, Buffer.from(served[name] ?? ''));
});
const folder = folderWith(
  { after },
  {
    'package.json': '{"type":"module"}',
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    ...Object.fromEntries(
      all.map((each) => [`${each.file}.ts`, moduleOf(each).replaceAll('https://example.org', url)]),
    ),
    ...Object.fromEntries(
      Object.entries(working).flatMap(([name, files]) => {
        return Object.entries(files).map(([file, bytes]) => [`${name}/${file}`, bytes]);
      }),
    ),
  },
);
mkdirSync(join(folder, 'node_modules'));
symlinkSync(root, join(folder, 'node_modules', 'ropewalk'));
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const { stdout: complaints } = await run([tsc, '-p', folder], { cwd: folder }).catch((error) => error);

// What a browser has and Node has not: Worker, addresses relative to the page, a worker's scope that takes messages.
globalThis.Worker = Worker;
const { fetch } = globalThis;
globalThis.fetch = (address, options) => fetch(new URL(address, url), options);
const scope = `import { parentPort } from 'node:worker_threads';
globalThis.on = parentPort.on.bind(parentPort);
globalThis.postMessage = parentPort.postMessage.bind(parentPort);\n`;
const inWorker = all.find(({ name }) => name === 'worker/expose.ts: expose');
const compiled = (file) => join(folder, 'out', `${file}.js`);
writeFileSync(join(folder, 'out', 'model-worker.js'), scope + readFileSync(compiled(inWorker.file), 'utf8'));
writeFileSync(
  join(folder, 'out', 'opener.js'),
  `${scope}import { expose } from 'ropewalk/worker';\nexpose({ openModel: ({ length }) => length });`,
);

for (const { name, file } of all) {
  test(`the example of ${name} compiles${file === inWorker.file ? '' : ' and runs'}`, async (t) => {
    const own = complaints.split(/\n(?=\S)/).filter((line) => line.startsWith(`${file}.ts`));
    assert.deepEqual(own, [], readFileSync(join(folder, `${file}.ts`), 'utf8'));
    if (file === inWorker.file) return; // runs in the worker of wrap's example
    t.mock.method(console, 'log', () => {});
    process.chdir(join(folder, folderOf(name)));
    await import(pathToFileURL(compiled(file)));
  });
}

test('nothing else is complained of, and no name is for an example that is gone', () => {
  assert.deepEqual(
    complaints.split('\n').filter((line) => /error TS/.test(line) && !/^example\d/.test(line)),
    [],
  );
  const known = new Set(all.map(({ name }) => name));
  assert.deepEqual(
    special.filter((name) => !known.has(name)),
    [],
  );
  assert.ok(all.length > 80);
});
