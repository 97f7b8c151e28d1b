/**
 * Position encodings and small attention layers, computed by WebAssembly SIMD kernels.
 * @packageDocumentation
 * @module ropewalk
 */

// The wasm first and all code behind it: in a bundle, gzip finds a repetition only within 32 kB.
// biome-ignore assist/source/organizeImports: the order matters
export { load } from './load.js';
export * from './api.js';
