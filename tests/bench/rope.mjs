// RoPE in place on [1, 32, 2048, 128]: the wasm build against the same kernel compiled natively with -msse4.1, in
// alternation. Prints medians and ratios; nothing is asserted.
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { load } from 'ropewalk';

const rounds = 51;
const warmUp = 25; // rounds until tables are made and the code is optimized
const [heads, tokens, headDim] = [32, 2048, 128];

execFileSync('cmake', ['--preset', 'native'], { stdio: 'ignore' });
execFileSync('cmake', ['--build', 'build/native', '--target', 'rope_native'], { stdio: 'ignore' });
const native = spawn('build/native/tests/bench/rope_native', { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface({ input: native.stdout })[Symbol.asyncIterator]();

async function nativeRound(pairing) {
  native.stdin.write(`${pairing}\n`);
  return Number((await lines.next()).value);
}

const rw = await load();
const x = rw.tensor([heads, tokens, headDim]);
x.set(Float32Array.from({ length: x.size }, (_, i) => (i % 1000) / 1000));

function wasmRound(plan) {
  const start = performance.now();
  plan.rotate(x);
  return performance.now() - start;
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

console.log(
  `node ${process.version}, build ${rw.info().simd}, ${rounds} rounds, [1, ${heads}, ${tokens}, ${headDim}] in place, ms`,
);
for (const pairing of ['half', 'interleaved']) {
  const plan = rw.rope({ headDim, pairing });
  const times = { native: [], wasm: [] };
  for (let round = 0; round < rounds + warmUp; ++round) {
    const pair = { native: await nativeRound(pairing), wasm: wasmRound(plan) };
    if (round < warmUp) continue;
    times.native.push(pair.native);
    times.wasm.push(pair.wasm);
  }
  const [ours, theirs] = [median(times.wasm), median(times.native)];
  console.log(
    `${pairing.padEnd(12)} wasm ${ours.toFixed(2)}  native ${theirs.toFixed(2)}  ratio ${(ours / theirs).toFixed(2)}`,
  );
}
native.stdin.end();
