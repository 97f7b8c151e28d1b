// Where threads come from: workers of the web, or of Node.
import { hasRelaxed } from '../instance.js';
import { threadCode } from '../thread-code.js';
import type { ThreadWorker } from './pool.js';

// Bundlers for the browser ignore an import whose name is no literal.
async function builtin<Module>(name: string): Promise<Module> {
  return (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as Module;
}

const isWeb = (): boolean => typeof Worker !== 'undefined';

let inside: string | undefined;

/** Gives the functions that may make workers, to be tried in turn: of the file beside this module, or of its code. @internal */
export async function ownWorkers(): Promise<(() => ThreadWorker)[]> {
  if (isWeb()) {
    return [
      // Bundlers find the file only by this literal.
      () => new Worker(new URL('./thread.js', import.meta.url), { type: 'module' }),
      // Where it is missing, or of another host. A strict policy forbids this.
      () => {
        inside ??= URL.createObjectURL(new Blob([threadCode], { type: 'text/javascript' }));
        return new Worker(inside);
      },
    ];
  }
  const node = await builtin<{ Worker: new (code: URL | string, options: object) => ThreadWorker }>(
    'node:worker_threads',
  );
  const here = import.meta.url; // in a variable, so that bundlers do not copy the file twice
  const options = { execArgv: [] }; // --input-type, for one, is for the main thread's code
  return [
    () => new node.Worker(new URL('thread.js', here), options),
    // Where a bundler left the file out, or gives a URL that Node does not take for one.
    () => new node.Worker(threadCode, { ...options, eval: true }),
  ];
}

/** How many processors there are. @internal */
export async function processors(): Promise<number> {
  const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
  if (navigator?.hardwareConcurrency !== undefined) return navigator.hardwareConcurrency;
  if (isWeb()) return 1;
  return (await builtin<{ availableParallelism(): number }>('node:os')).availableParallelism();
}

/**
 * Why this runtime cannot have several threads, with relaxed SIMD or without; undefined where nothing is known to forbid
 * them.
 * @internal
 */
export function obstacle(isRelaxed: boolean): string | undefined {
  if (typeof SharedArrayBuffer === 'undefined') {
    const { crossOriginIsolated } = globalThis as { crossOriginIsolated?: boolean };
    if (crossOriginIsolated !== false) return 'this runtime has no SharedArrayBuffer';
    const headers = 'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp';
    return `the page is not cross-origin isolated; its server has to send ${headers}`;
  }
  if (typeof WebAssembly === 'undefined') return 'this runtime has no WebAssembly';
  return !isRelaxed || hasRelaxed() ? undefined : 'this engine has no relaxed SIMD, which the build with threads needs';
}
