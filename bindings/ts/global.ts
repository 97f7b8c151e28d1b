// All entries but `external` and `training` in one object, for pages and workers that load a script and no modules.
export * from './index.js';
export * from './models.js';
export * from './worker.js';
