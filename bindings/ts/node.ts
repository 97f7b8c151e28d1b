/**
 * The main entry as Node imports it: reads the build that it runs from the file beside this one. Without that file, as
 * in a bundle, it unpacks the build from the JavaScript, as the main entry does elsewhere.
 * @packageDocumentation
 */
import { type BuildName, buildOf, compiledOnce, type LoadOptions, open } from './instance.js';
import type { Ropewalk } from './ropewalk.js';
import { readWhole } from './safetensors/node-files.js';

export * from './api.js';

const files = { simd128: 'core.wasm', relaxed: 'core-relaxed.wasm' } satisfies Record<BuildName, string>;

const notBeside = new Error('no file of this build lies here');

// A file may be missing or forbidden, and beside code that was bundled it may be anybody's.
async function compileFile(name: BuildName): Promise<WebAssembly.Module> {
  try {
    const here = import.meta.url; // in a variable, so that no bundler takes the file for one to bring along
    // At once: no page waits here, and a thread takes longer.
    const module = new WebAssembly.Module(await readWhole(new URL(files[name], here), files[name]));
    if (buildOf(module) === name) return module;
  } catch {}
  throw notBeside;
}

const compiled = compiledOnce(compileFile);

/**
 * Makes an instance of ropewalk. Every call makes a new instance with a heap of its own; the compiled code is shared.
 *
 * @throws UnsupportedError where WebAssembly SIMD is missing.
 *
 * @example
 * import { load } from 'ropewalk';
 * const rw = await load();
 */
export async function load(options: LoadOptions = {}): Promise<Ropewalk> {
  try {
    return await open(options, compiled);
  } catch (error) {
    if (error !== notBeside) throw error;
    return (await import('./index.js')).load(options);
  }
}
