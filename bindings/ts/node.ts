/**
 * The main entry as Node imports it: the one build that it runs is read from the file beside this one, where 'ropewalk'
 * elsewhere unpacks both from its JavaScript. Where that file is not, as beside a bundle, it does the same as elsewhere.
 * @packageDocumentation
 */
import { type BuildName, compiledOnce, type LoadOptions, open } from './instance.js';
import { readWhole } from './node-files.js';
import type { Ropewalk } from './ropewalk.js';
import { buildIds } from './version.js';

export * from './api.js';

const files = { simd128: 'core.wasm', relaxed: 'core-relaxed.wasm' } satisfies Record<BuildName, string>;

const notBeside = new Error('no file of this build lies here');

// A file may be missing or forbidden, and beside a bundle it may be anybody's.
async function compileFile(name: BuildName): Promise<WebAssembly.Module> {
  try {
    const here = import.meta.url; // in a variable, so that no bundler takes the file for one to bring along
    // At once: no page waits here, and a thread takes longer.
    const module = new WebAssembly.Module(await readWhole(new URL(files[name], here), files[name]));
    const [id] = WebAssembly.Module.customSections(module, 'ropewalk');
    if (new TextDecoder().decode(id) === buildIds[name]) return module;
  } catch {}
  throw notBeside;
}

const compiled = compiledOnce(compileFile);

/**
 * As load() of the main entry elsewhere.
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
