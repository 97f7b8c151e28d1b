// The commands of docs/external.md with large tools, and the first program of it in their runtimes.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../../ts/support/node.mjs';
import { commands, large, programs, project, runs, titleAfter, toolOf } from '../project.mjs';

const bins = fileURLToPath(new URL('../node_modules/.bin/', import.meta.url));
const runtimes = { bun: [], deno: ['run', '--allow-read', '--allow-env'] };

for (const tool of large) {
  const command = commands.find((each) => toolOf(each) === tool);
  test(`a page built by: ${command.split('\n')[0]}`, async (t) => {
    assert.match(await titleAfter(t, project(t), command), runs);
  });

  test(`the first program runs in ${tool}`, async (t) => {
    const folder = project(t, { 'first.js': programs[0] });
    const { stdout } = await run([...runtimes[tool], 'first.js'], { command: join(bins, tool), cwd: folder });
    assert.match(stdout, /^(simd128|relaxed)\n$/);
  });
}
