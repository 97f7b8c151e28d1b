// Runs a test program built by Emscripten: node run-wasm.mjs [--relaxed] program.mjs [arguments of Catch2].
// --relaxed: exits with 77, which CTest reports as Skipped, if this Node cannot run the module.
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import v8 from 'node:v8';

const args = process.argv.slice(2);
const relaxed = args[0] === '--relaxed';
if (relaxed) args.shift();
const program = args.shift();
const wasm = await readFile(program.replace(/\.mjs$/, '.wasm'));

// Node 20 has relaxed SIMD behind a flag, with wrong dot products of bytes in the compiler that starts first; newer ones need
// no flag and may not know it.
if (relaxed && !WebAssembly.validate(wasm)) {
  v8.setFlagsFromString('--experimental-wasm-relaxed-simd');
  v8.setFlagsFromString('--no-liftoff');
}

if (relaxed && !WebAssembly.validate(wasm)) {
  console.log('skipped: this Node has no relaxed SIMD');
  process.exitCode = 77;
} else {
  const { default: create } = await import(pathToFileURL(program));
  await create({ arguments: args });
}
