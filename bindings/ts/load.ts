// From nothing to an instance: choose a build, unpack, compile, instantiate.
import * as check from './check.js';
import createCore from './core.mjs';
import { ArgumentRangeError, ArgumentTypeError, UnsupportedError } from './errors.js';
import { Heap } from './heap.js';
import { block, packed, sizes, version } from './inline.js';
import { Ropewalk } from './ropewalk.js';

/** Options of load(). */
export interface LoadOptions {
  /**
   * `auto` (the default) takes relaxed SIMD where the engine has it, which is faster and may differ in the last bit
   * from machine to machine. `deterministic` keeps to the build whose results are the same bits everywhere.
   */
  simd?: 'auto' | 'deterministic';
  /**
   * A compiled `ropewalk/core.wasm` (or `ropewalk/core-relaxed.wasm`), for runtimes that refuse to compile at run
   * time, such as edge workers.
   */
  module?: WebAssembly.Module;
}

type BuildName = keyof typeof sizes;

// Unpacked once, compiled once; every instance shares them.
let unpacked: Promise<Readonly<Record<BuildName, Uint8Array<ArrayBuffer>>>> | undefined;
const compiled = new Map<BuildName, WebAssembly.Module>();

// A loop takes a tenth of the time of Uint8Array.from with a callback.
function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// By the stream's own ends: Response would do it in one line, and make Node load all of its fetch first.
async function inflate(deflated: Uint8Array<ArrayBuffer>, size: number): Promise<Uint8Array> {
  const { writable, readable } = new DecompressionStream('deflate-raw');
  const writer = writable.getWriter();
  const reader = readable.getReader();
  const bytes = new Uint8Array(size);
  const read = async () => {
    let at = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes.set(part.value, at);
      at += part.value.length;
    }
  };
  await Promise.all([writer.write(deflated), writer.close(), read()]);
  return bytes;
}

// The builds lie in blocks taken in turns (see bindings/package.mjs).
async function unpack(): Promise<Readonly<Record<BuildName, Uint8Array<ArrayBuffer>>>> {
  const bytes = await inflate(decodeBase64(packed), sizes.simd128 + sizes.relaxed);
  const builds = { simd128: new Uint8Array(sizes.simd128), relaxed: new Uint8Array(sizes.relaxed) };
  let from = 0;
  for (let at = 0; from < bytes.length; at += block) {
    for (const build of [builds.simd128, builds.relaxed]) {
      const length = Math.max(0, Math.min(block, build.length - at));
      build.set(bytes.subarray(from, from + length), Math.min(at, build.length));
      from += length;
    }
  }
  return builds;
}

// A module with one relaxed instruction: (func (result v128) (i8x16.relaxed_swizzle (i8x16.splat 1) (i8x16.splat 2))).
const relaxedProbe = Uint8Array.of(
  0,
  97,
  115,
  109,
  1,
  0,
  0,
  0,
  1,
  5,
  1,
  96,
  0,
  1,
  123,
  3,
  2,
  1,
  0,
  10,
  15,
  1,
  13,
  0,
  65,
  1,
  253,
  15,
  65,
  2,
  253,
  15,
  253,
  128,
  2,
  11,
);

async function compile(simd: 'auto' | 'deterministic'): Promise<WebAssembly.Module> {
  if (typeof WebAssembly === 'undefined') throw new UnsupportedError('load: this runtime has no WebAssembly');
  const name: BuildName = simd === 'auto' && WebAssembly.validate(relaxedProbe) ? 'relaxed' : 'simd128';
  unpacked ??= unpack().catch((error) => {
    unpacked = undefined; // the next load() tries again
    throw error;
  });
  const bytes = (await unpacked)[name];
  if (!WebAssembly.validate(bytes)) {
    throw new UnsupportedError(
      'load: this runtime has no WebAssembly SIMD; Chrome 91, Firefox 89, Safari 16.4 and Node 16.4 have it',
    );
  }
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const module = await WebAssembly.compile(bytes);
  compiled.set(name, module);
  return module;
}

// Engines name 'unsafe-eval' when they refuse, although the narrower 'wasm-unsafe-eval' is enough.
function refusal(error: unknown): unknown {
  if (!(error instanceof WebAssembly.CompileError)) return error;
  if (/content.security.policy|unsafe-eval/i.test(error.message)) {
    const advice = "add 'wasm-unsafe-eval' to script-src ('unsafe-eval' is not needed)";
    return new UnsupportedError(`load: this page's Content-Security-Policy refuses WebAssembly; ${advice}`, {
      cause: error,
    });
  }
  if (/disallowed by embedder/i.test(error.message)) {
    const advice = "import 'ropewalk/core.wasm' as a module and pass it: load({ module })";
    return new UnsupportedError(`load: this runtime compiles no WebAssembly at run time; ${advice}`, { cause: error });
  }
  return error;
}

async function instantiate(module: WebAssembly.Module): Promise<Heap> {
  // The glue waits for its callback for ever, so a failure has to race it.
  return new Promise((resolve, reject) => {
    let memory: WebAssembly.Memory | undefined;
    const instantiateWasm = (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => {
      WebAssembly.instantiate(module, imports)
        .then((instance) => {
          memory = Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
          receive(instance);
        })
        .catch((cause) => reject(notOurs(module, cause)));
      return {};
    };
    createCore({ instantiateWasm }).then(
      (core) => (memory ? resolve(new Heap(core, memory)) : reject(notOurs(module))),
      (cause) => reject(notOurs(module, cause)),
    );
  });
}

// A module that compiles but does not fit the glue.
function notOurs(module: WebAssembly.Module, cause?: unknown): ArgumentTypeError {
  const error = new ArgumentTypeError('load', 'module', module, "the compiled 'ropewalk/core.wasm' of this version");
  error.cause = cause;
  return error;
}

/**
 * Makes an instance of ropewalk. Nothing is fetched: the WebAssembly is inside the package. Every call makes a new
 * instance with a heap of its own; the compiled code is shared.
 *
 * @throws UnsupportedError where WebAssembly SIMD is missing or a Content-Security-Policy forbids WebAssembly.
 *
 * @example
 * import { load } from 'ropewalk';
 * const rw = await load();
 */
export async function load(options: LoadOptions = {}): Promise<Ropewalk> {
  check.options('load', 'options', options, ['simd', 'module']);
  const { simd = 'auto' } = options;
  check.choice('load', 'simd', simd, { auto: 0, deterministic: 1 });
  const given = options.module;
  if (given !== undefined && Object.prototype.toString.call(given) !== '[object WebAssembly.Module]') {
    throw new ArgumentTypeError('load', 'module', given, 'a WebAssembly.Module');
  }
  try {
    const heap = await instantiate(given ?? (await compile(simd)));
    if (simd === 'deterministic' && heap.core.backend === 'wasm-relaxed') {
      throw new ArgumentRangeError(
        'load',
        'module',
        given,
        "is the relaxed build, which simd: 'deterministic' excludes",
      );
    }
    return new Ropewalk(heap, { version, simd: heap.core.backend === 'wasm-relaxed' ? 'relaxed' : 'simd128' });
  } catch (error) {
    throw refusal(error);
  }
}
