// The declarations in the compilers of consumers, from the oldest TypeScript that they support on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compile, resolutions } from '../ts/support/consumer-types.mjs';

const folderOf = (compiler) => fileURLToPath(new URL(`node_modules/${compiler}`, import.meta.url));

for (const [compiler, version] of Object.entries({ typescript54: '5.4', typescript59: '5.9', typescript60: '6.0' })) {
  for (const name of Object.keys(resolutions)) {
    test(`the declarations compile by TypeScript ${version} with ${name} resolution`, async (t) => {
      const manifest = JSON.parse(readFileSync(`${folderOf(compiler)}/package.json`, 'utf8'));
      assert.ok(manifest.version.startsWith(`${version}.`), manifest.version);
      await compile(t, folderOf(compiler), name, true);
    });
  }
}
