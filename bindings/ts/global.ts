// All entries that compute on the wasm of the main one in one object, for pages and workers that load a script and no modules.
export * from './index.js';
export * from './models.js';
export * from './worker.js';
