// Bundlers leave out what a program does not import.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bundlers } from './bundlers.mjs';
import { projectFile } from './packed.mjs';

const holdsWasm = (code) => /[A-Za-z0-9+/]{1000}|\0asm/.test(code);

// What is imported. Where it needs no wasm, `limit` is the most bytes of code; Rollup's are not minified.
const imports = {
  'nothing.mjs': { code: "import 'ropewalk';", limit: 1000 },
  'positions.mjs': { code: "import { mropePositions } from 'ropewalk'; console.log(mropePositions);", limit: 15000 },
  'positions-external.mjs': {
    code: "import { mropePositions } from 'ropewalk/external'; console.log(mropePositions);",
    limit: 15000,
  },
  'load.mjs': { code: "import { load } from 'ropewalk'; console.log(load);" },
};

for (const [name, bundle] of Object.entries(bundlers)) {
  describe(name, () => {
    for (const [file, { code, limit }] of Object.entries(imports)) {
      test(`${limit === undefined ? 'keeps' : 'leaves out'} the wasm of: ${code}`, async () => {
        const codes = await bundle(projectFile(file, code));
        const bytes = codes.reduce((sum, each) => sum + each.length, 0);
        console.log(`${name}, ${code} ${bytes} bytes`);
        assert.equal(codes.some(holdsWasm), limit === undefined);
        if (limit !== undefined) assert.ok(bytes <= limit, `${bytes} bytes of code; expected at most ${limit}`);
      });
    }
  });
}
