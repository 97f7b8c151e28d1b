// The pages of docs/errors: one for each error class, with examples that fail and examples that do not.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as main from 'ropewalk';
import * as external from 'ropewalk/external';
import * as models from 'ropewalk/models';
import * as threads from 'ropewalk/threads';
import * as training from 'ropewalk/training';
import * as worker from 'ropewalk/worker';
import { root, run } from './support/node.mjs';

const folder = join(root, 'docs', 'errors');
const pages = readdirSync(folder).map((name) => [name.replace(/\.md$/, ''), readFileSync(join(folder, name), 'utf8')]);
const exported = { ...main, ...external, ...models, ...threads, ...training, ...worker };
const classes = Object.keys(exported).filter((name) => exported[name].prototype instanceof Error);
// Nothing that a caller can do makes an instance trap, and Node runs what this package needs.
const notThrown = ['InstanceLostError', 'UnsupportedError'];

test('every error class has a page, and every page a class', () => {
  assert.deepEqual(pages.map(([name]) => name).sort(), classes.sort());
  assert.ok(classes.length >= 7);
});

// The fixed parts of the messages in a table: `...`, values and what is expected are filled in when they are thrown.
function partsOf(text) {
  const cells = [...text.matchAll(/^\| (`.*?`) \| /gm)].map(([, cell]) => cell);
  const messages = cells.flatMap((cell) => cell.match(/`[^`]+`/g).map((each) => each.slice(1, -1)));
  const parts = messages.flatMap((message) => message.split(/\.\.\.|; expected |"[^"]*"|\[[^\]]*\]|\b\d+\b/));
  return parts.map((part) => part.trim()).filter((part) => part.length >= 8);
}

const sources = readdirSync(join(root, 'bindings', 'ts'), { recursive: true }).filter((name) => name.endsWith('.ts'));
const code = sources.map((name) => readFileSync(join(root, 'bindings', 'ts', name), 'utf8').replaceAll("\\'", "'"));

for (const [name, text] of pages) {
  const programs = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  const failing = programs.filter((code) => code.startsWith('// throws '));

  test(`the page of ${name} says what it means, its causes, the fixes, and shows one`, () => {
    assert.match(text, /^# [A-Z].*\n\n/);
    const [head, , ...rows] = text.split('\n').filter((line) => line.startsWith('|'));
    assert.match(head, /\| cause \| fix \|$/);
    for (const row of rows) assert.doesNotMatch(row, /\|\s*\|/, row); // an empty cell
    assert.ok(rows.length >= 2);
    assert.ok(programs.length > failing.length);
    assert.equal(failing.length, notThrown.includes(name) ? 0 : 1);
    for (const [, other] of text.matchAll(/\]\((\w+)\.md\)/g)) assert.ok(classes.includes(other), other);
  });

  if (text.includes('| message |')) {
    test(`the code has the messages on the page of ${name}`, () => {
      const parts = partsOf(text);
      assert.ok(parts.length >= 2);
      for (const part of parts)
        assert.ok(
          code.some((source) => source.includes(part)),
          part,
        );
    });
  }

  for (const code of failing) {
    test(`the first example of ${name} throws it`, async () => {
      const [, promised] = /^\/\/ throws (\w+)\n/.exec(code) ?? [];
      assert.equal(promised, name);
      const { stderr } = await run(['--input-type=module', '--eval', code]).then(assert.fail, (error) => error);
      assert.match(stderr, new RegExp(`^${name}: `, 'm'));
    });
  }

  for (const code of programs.filter((each) => !failing.includes(each))) {
    test(`the last example of ${name} runs`, async () => {
      const { stderr } = await run(['--input-type=module', '--eval', code]);
      assert.equal(stderr, '');
    });
  }
}

test('the example of UnsupportedError says so where there is no WebAssembly', async () => {
  const [, text] = pages.find(([name]) => name === 'UnsupportedError');
  const [, code] = /^```js\n(.*?)^```$/ms.exec(text);
  const without = 'data:text/javascript,delete globalThis.WebAssembly;';
  const { stdout } = await run(['--import', without, '--input-type=module', '--eval', code]);
  assert.equal(stdout, 'not here: load: this runtime has no WebAssembly\n');
});
