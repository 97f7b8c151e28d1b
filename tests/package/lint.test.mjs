// The packed package passes the checks of publint and of "are the types wrong?".
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../ts/support/node.mjs';
import { tarball } from './packed.mjs';

// Prints what a tool prints and gives it with the exit code.
async function check(tool, ...options) {
  const path = fileURLToPath(new URL(`node_modules/${tool}`, import.meta.url));
  const { code = 0, stdout, stderr } = await run([path, tarball, ...options]).catch((failure) => failure);
  console.log(`${stdout}${stderr}`.trim());
  return { code, stdout };
}

test('publint --strict finds nothing', async () => {
  const { code, stdout } = await check('publint/src/cli.js', '--strict');
  assert.equal(code, 0);
  assert.match(stdout, /All good!/); // suggestions do not change the exit code
});

// The profile leaves out require() before Node 20.19 and resolution without `exports`; the wasm files and a worker's have no types.
test('attw --profile esm-only finds no problem', async () => {
  const table = ['--format', 'table', '--exclude-entrypoints', 'core.wasm', 'core-relaxed.wasm', 'thread.js'];
  const { code, stdout } = await check(
    '@arethetypeswrong/cli/dist/index.js',
    '--profile',
    'esm-only',
    '--no-emoji',
    '--no-color',
    ...table,
  );
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /Resolution failed/); // not by resolution without `exports` either
});
