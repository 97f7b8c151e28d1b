/**
 * Position encodings and small attention layers, computed by WebAssembly SIMD kernels.
 * @packageDocumentation
 */

export * from './api.js';
export { load } from './load.js';
