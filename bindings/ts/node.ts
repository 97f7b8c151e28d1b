/**
 * The main entry for Node: reads the build that it runs from a file in the folder of this module. Without that file, as
 * in a bundle, it unpacks the build from the JavaScript, as the main entry does elsewhere.
 * @packageDocumentation
 */
import { type BuildName, buildOf, compiledOnce, type LoadOptions, open } from './instance.js';
import type { Ropewalk } from './ropewalk.js';
import { readWhole } from './sources/node-files.js';

export * from './api.js';

const files = { simd128: 'core.wasm', relaxed: 'core-relaxed.wasm' } satisfies Record<BuildName, string>;

const notBeside = /* @__PURE__ */ new Error('no file of this build lies here');

// The file may be missing or unreadable, and beside bundled code it may be an unrelated one.
async function compileFile(name: BuildName): Promise<WebAssembly.Module> {
  try {
    const here = import.meta.url; // in a variable, so that bundlers do not copy the file
    // Synchronous: there is no page to block, and compiling in a thread takes longer.
    const module = new WebAssembly.Module(await readWhole(new URL(files[name], here), files[name]));
    if (buildOf(module) === name) return module;
  } catch {}
  throw notBeside;
}

const compiled = /* @__PURE__ */ compiledOnce(compileFile);

/**
 * Makes an instance of ropewalk. Every call makes a new instance with a heap of its own; the compiled code is shared.
 *
 * @throws UnsupportedError where WebAssembly SIMD is missing; ArgumentTypeError for a module of another version.
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
