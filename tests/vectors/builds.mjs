// The builds of the package that this runtime can run, each with a function to load it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { UnusableFile } from './files.mjs';

async function importPackage(entry = 'ropewalk') {
  try {
    return await import(entry);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UnusableFile('the package is not built; run: npm run build');
  }
}

/**
 * Enables relaxed SIMD if possible, and gives whether it works. Node 20 needs flags, which later versions lack or do without:
 * the compiler that starts first has wrong dot products of bytes there.
 */
export function enableRelaxed() {
  const relaxed = readFileSync(fileURLToPath(import.meta.resolve('ropewalk/core-relaxed.wasm')));
  if (WebAssembly.validate(relaxed)) return true;
  if (Number(process.versions.node.split('.')[0]) > 20) return false;
  setFlagsFromString('--experimental-wasm-relaxed-simd');
  setFlagsFromString('--no-liftoff');
  return WebAssembly.validate(relaxed);
}

/** [{ name, load }]; `load` is undefined if the build cannot run. */
export async function builds() {
  const { load } = await importPackage();
  const relaxed = enableRelaxed();
  return [
    { name: 'simd', load: () => loadAs(load, 'simd128', { simd: 'deterministic' }) },
    { name: 'relaxed', load: relaxed ? () => loadAs(load, 'relaxed', { simd: 'auto' }) : undefined },
  ];
}

/** The same, and the build with threads. */
export async function buildsAndThreads() {
  const [threads, ...all] = [await importPackage('ropewalk/threads'), ...(await builds())];
  const isRun = all.every((build) => build.load !== undefined);
  return [...all, { name: 'threads', load: isRun ? () => threads.load({ threads: 2 }) : undefined }];
}

async function loadAs(load, expected, options) {
  const rw = await load(options);
  if (rw.info().simd !== expected) throw new Error(`load() gave the ${rw.info().simd} build; expected ${expected}`);
  return rw;
}
