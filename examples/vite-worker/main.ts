import { wrap } from 'ropewalk/worker';
import type { Api } from './worker';

const remote = wrap<Api>(new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }));
const { simd } = await remote.info();
const start = performance.now();
const out = await remote.attend(8, 512, 64); // the page stays smooth meanwhile
const took = performance.now() - start;
const output = document.querySelector('output');
if (output) output.textContent = `${out.length} numbers in ${took.toFixed(0)} ms (${simd})`;
