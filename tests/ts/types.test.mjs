// The declarations in a consumer's compiler, the newest; tests/consumers has older ones.
import { join } from 'node:path';
import { test } from 'node:test';
import { compile, resolutions } from './support/consumer-types.mjs';
import { root } from './support/node.mjs';

for (const name of Object.keys(resolutions)) {
  for (const exact of [true, false]) {
    const how = `${name} resolution${exact ? ' and exact optional properties' : ''}`;
    test(`the declarations compile in a consumer with ${how}`, (t) =>
      compile(t, join(root, 'node_modules', 'typescript'), name, exact));
  }
}
