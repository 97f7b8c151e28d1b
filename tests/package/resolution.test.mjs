// Every entry is found by a resolver that does not read `exports`, as Parcel's is by default.
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import webpack from 'webpack';
import { projectFile, target } from './packed.mjs';

const entries = {
  ropewalk: 'index',
  'ropewalk/external': 'external',
  'ropewalk/models': 'models',
  'ropewalk/threads': 'threads',
  'ropewalk/training': 'training',
  'ropewalk/worker': 'worker',
};

for (const [name, file] of Object.entries(entries)) {
  test(`without exports ${name} leads to dist/${file}.js`, async () => {
    const entry = projectFile('entry.js', `export * from '${name}';`);
    const stats = await promisify(webpack)({
      entry,
      mode: 'none',
      resolve: { exportsFields: [] },
      module: { rules: [{ resolve: { fullySpecified: false } }] },
      output: { path: join(target, '..', '..', 'webpack') },
    });
    assert.equal(stats.toString({ all: false, errors: true, warnings: true }), '');
    const modules = [...stats.compilation.modules].map(({ resource }) => resource);
    assert.ok(modules.includes(join(realpathSync(target), 'dist', `${file}.js`)), modules.join('\n'));
  });
}
