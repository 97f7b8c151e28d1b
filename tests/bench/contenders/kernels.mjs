// The core alone (tests/bench/kernels.cpp), without the package around it: wasm in this process, native builds in child
// processes. `lineOf` gives the line that names a work there.

export function lineOf(operation, sizes) {
  const numbers = Object.values(sizes).map((value) => (typeof value === 'boolean' ? Number(value) : value));
  return [operation, ...numbers].join(' ');
}

const operations = ['rope', 'sinusoid', 'linear', 'softmax', 'attention', 'decode'];
const limits = ['peak', 'copy', 'pack', 'read'];

function withOperations(prepare) {
  const entries = [...operations, ...limits].map((name) => [name, (sizes) => prepare(lineOf(name, sizes))]);
  return { operations: Object.fromEntries(entries) };
}

/** @param bytes the module of one wasm build. */
async function openWasm(bytes) {
  if (!WebAssembly.validate(bytes)) return undefined;
  const env = { emscripten_notify_memory_growth() {} };
  const { instance } = await WebAssembly.instantiate(bytes, { env });
  const { memory, text, prepare, run, _initialize } = instance.exports;
  _initialize();
  return withOperations((line) => {
    const { written } = new TextEncoder().encodeInto(line, new Uint8Array(memory.buffer, text(), 255));
    new Uint8Array(memory.buffer)[text() + written] = 0;
    return prepare() === 1 ? { op: run } : undefined;
  });
}

// Built where the sources changed; node: modules are imported only where there are some.
async function build(preset, target) {
  const { execFileSync } = await import('node:child_process');
  const { fileURLToPath } = await import('node:url');
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  execFileSync('cmake', ['--preset', preset], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync('cmake', ['--build', `build/${preset}`, '--target', target], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return `${cwd}build/${preset}/tests/bench/${target}`;
}

/** Builds the wasm module of the kernels and gives its bytes. */
export async function wasmBytes(preset) {
  const { readFileSync } = await import('node:fs');
  return readFileSync(`${await build(preset, 'bench_kernels')}.wasm`);
}

async function openNative(target) {
  const { spawn } = await import('node:child_process');
  const { createInterface } = await import('node:readline');
  const program = spawn(await build('native', target), { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  const ask = async (repeat, line) => {
    program.stdin.write(`${repeat} ${line}\n`);
    const { value } = await answers.next();
    return value === 'none' ? undefined : Number(value);
  };
  const contender = withOperations(async (line) =>
    (await ask(1, line)) === undefined ? undefined : { op: (repeat) => ask(repeat, line) },
  );
  return { ...contender, timesItself: true, close: () => program.stdin.end() };
}

/** `kernels` in the environment: the bytes by preset, for a page, which has no compiler. */
const wasm = (id, preset) => ({
  id,
  title: `the kernels in wasm, ${id.slice('kernels-'.length)}`,
  open: async ({ kernels } = {}) => openWasm(kernels?.[preset] ?? (await wasmBytes(preset))),
});

export const contenders = [
  wasm('kernels-relaxed', 'wasm-relaxed'),
  wasm('kernels-simd', 'wasm-simd'),
  { id: 'sse41', title: 'the kernels natively, -msse4.1', nodeOnly: true, open: () => openNative('bench_sse41') },
  { id: 'avx2', title: 'the kernels natively, -mavx2 -mfma', nodeOnly: true, open: () => openNative('bench_avx2') },
];
