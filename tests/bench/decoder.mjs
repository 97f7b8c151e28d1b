// node tests/bench/decoder.mjs [--folder DIR] [--rounds N] [--browser] [--peer] [--gguf [--threads N] [--markdown FILE]]
// Measures a model of SmolLM2-135M's shape (made in DIR by tests/models/make.mjs if missing): time and memory of
// loading, tokens per second for a prompt of 512 and for decoding after it, compared with the limits of multiply-adds
// in registers and of reading the weights from memory, and with onnxruntime-web; and the cost of a token apart from the
// products. With --gguf instead: files in blocks of 8 and 4 bits, in Node, and in Chromium beside wllama, there also with
// several threads if asked. Times are processor time in Node and wall-clock time in a page; with --gguf all of the clock.
// Nothing is asserted.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { wasmBytes } from './contenders/kernels.mjs';
import { rowsOf, runRounds } from './decoder/rounds.mjs';
import { tinyMicroseconds } from './decoder/tiny.mjs';
import { machine, machineLine } from './machine.mjs';
import { table } from './markdown.mjs';
import { columns } from './report.mjs';

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string', default: join(tmpdir(), 'ropewalk-smollm2') },
    rounds: { type: 'string', default: '5' },
    browser: { type: 'boolean', default: false },
    peer: { type: 'boolean', default: false },
    gguf: { type: 'boolean', default: false },
    threads: { type: 'string', default: '1' },
    markdown: { type: 'string' },
  },
});
const { folder, peer } = options;
const rounds = Number(options.rounds);
if (options.gguf) {
  const { ggufRows } = await import('./decoder/gguf.mjs');
  const rows = await ggufRows(folder, rounds, Number(options.threads));
  const made = machineLine({ ...machine(), runtime: `Node ${process.version}` });
  console.log(`\n${made}`);
  console.log(columns(rows));
  if (options.markdown) {
    const text = `# Benchmarks of GGUF files

Random weights of SmolLM2-135M's shape, one thread each unless said; ropewalk and wllama (llama.cpp compiled to wasm) in turn
in one page: medians of ${rounds} rounds. The bytes are at hand. Time to the first token, prompts of 128 tokens and 32 tokens after them, in
tokens per second; over wllama: how many times as fast, in that order. Memory is that of the wasm heap; its peak is over what
weights and cache take. Written by \`npm run bench:decoder -- ${process.argv.slice(2).join(' ')}\`.

${made}

${table(rows)}
`;
    writeFileSync(options.markdown, text);
  }
  process.exit(0);
}
if (!existsSync(join(folder, 'config.json'))) {
  const make = fileURLToPath(new URL('../models/make.mjs', import.meta.url));
  execFileSync(process.execPath, [make, 'smollm2-135m', folder], { stdio: 'inherit' });
}
const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
const weights = join(folder, 'model.safetensors');
const kernels = { 'wasm-relaxed': await wasmBytes('wasm-relaxed'), 'wasm-simd': await wasmBytes('wasm-simd') };

const { load } = await import('ropewalk');
const { loadModel, openSafetensors } = await import('ropewalk/models');
const results = await runRounds({ load, loadModel, openSafetensors, config, weights, kernels, rounds, peer });
console.log(`\n${machineLine({ ...machine(), runtime: `Node ${process.version}` })}`);
console.log(columns(rowsOf(config, results)));
const { median, low, high } = await tinyMicroseconds({ load, loadModel, rounds });
console.log(
  `A LLaMA of two layers and 36 numbers a token: ${median.toFixed(1)} us a token (${low.toFixed(1)} to ${high.toFixed(1)})`,
);
if (options.browser) {
  const { runInBrowser } = await import('./decoder/browser.mjs');
  const made = await runInBrowser({ folder, kernels, rounds, peer });
  console.log(`\n${machineLine({ ...machine(), runtime: made.runtime })}`);
  console.log(columns(rowsOf(config, made.results)));
}
process.exit(0);
