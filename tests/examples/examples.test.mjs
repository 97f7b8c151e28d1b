// Every folder of examples/, copied elsewhere, with the packed package installed, does what its first comment says.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { nodeFlags, root, run } from '../ts/support/node.mjs';
import { installPacked } from '../ts/support/packed.mjs';
import { serveFolder } from '../ts/support/server.mjs';
import { fileOfModel, tinyBert, tinyLlama } from '../ts/support/tiny-models.mjs';
import { launch, until } from '../web/site.mjs';

let base;
let browser;
before(async () => {
  base = mkdtempSync(join(tmpdir(), 'ropewalk-examples-'));
  installPacked(base);
  // What examples need besides is that of this checkout.
  for (const name of ['@huggingface', 'vite', 'typescript']) {
    symlinkSync(join(root, 'node_modules', name), join(base, 'node_modules', name));
  }
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(base, { recursive: true, force: true });
});

// A copy whose node_modules are those of `base`.
function copyOf(name) {
  const folder = join(base, name);
  cpSync(join(root, 'examples', name), folder, { recursive: true });
  symlinkSync(join(base, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

const words = ['[UNK]', '<|im_start|>', '<|im_end|>', 'user', 'assistant', 'warm', 'cat', 'train', 'boats', 'the'];

/** Files of a checkpoint beside a tokenizer of ten words. */
function checkpointIn(folder, model) {
  const vocab = Object.fromEntries(words.map((word, id) => [word, id]));
  const tokenizer = {
    ...{ version: '1.0', truncation: null, padding: null, normalizer: null, post_processor: null, decoder: null },
    added_tokens: [1, 2].map((id) => ({ id, content: words[id], special: true })),
    pre_tokenizer: { type: 'Whitespace' },
    model: {
      type: 'WordPiece',
      vocab,
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
    },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(model.config));
  writeFileSync(join(folder, 'model.safetensors'), fileOfModel(model));
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), '{}');
}

/** A page of a folder, on a plain server, and what it complains about. */
async function pageOf(t, folder) {
  const { address, close } = await serveFolder(folder);
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(address);
  t.after(async () => {
    await page.close();
    close();
  });
  return { page, complaints };
}

test('node-esm: scores depend on the distance', async () => {
  const { stdout } = await run(['main.js'], { cwd: copyOf('node-esm') });
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 4);
  for (const line of lines) {
    const [, near, far] = /^distance \d+: (\S+) at the start, (\S+) at position 2\^40$/.exec(line);
    assert.ok(Math.abs(near - far) < 2e-4, line);
  }
});

test('node-cjs: rows of probabilities up to each query', async () => {
  const { stdout, stderr } = await run(['--no-warnings', 'main.js'], { cwd: copyOf('node-cjs') });
  assert.equal(stderr, '');
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').map(Number));
  assert.equal(rows.length, 4);
  for (const [q, row] of rows.entries()) {
    assert.ok(Math.abs(row.reduce((a, b) => a + b) - 1) < 0.03);
    for (const p of row.slice(q + 1)) assert.equal(p, 0);
  }
});

test('import-map: a table in a page that nothing was built for', async (t) => {
  const { page, complaints } = await pageOf(t, copyOf('import-map'));
  await until(() => page.evaluate(() => document.querySelectorAll('td').length === 36), 'the table');
  const cells = await page.evaluate(() => Array.from(document.querySelectorAll('td'), (cell) => cell.textContent));
  // Slope 1/2, from key 0 to query 5.
  assert.deepEqual(cells.slice(30), ['-2.50', '-2.00', '-1.50', '-1.00', '-0.50', '0.00']);
  assert.deepEqual(complaints, []);
  // The page's policy is strict: a script within it does not run.
  const ran = () => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.ran = true';
    document.head.append(script);
    return globalThis.ran === true;
  };
  assert.equal(await page.evaluate(ran), false);
});

test('script-tag: scores in a page from the disk', async (t) => {
  const page = await browser.newPage();
  t.after(() => page.close());
  await page.goto(String(pathToFileURL(join(copyOf('script-tag'), 'index.html'))));
  const cells = () => page.evaluate(() => Array.from(document.querySelectorAll('td'), (cell) => cell.textContent));
  await until(async () => (await cells()).length === 10, 'the table');
  const frequencies = Array.from({ length: 32 }, (_, i) => 10000 ** (-i / 32));
  const scores = [0, 1, 10, 100, 1000].map((distance) => {
    const sum = frequencies.reduce((total, frequency) => total + Math.cos(distance * frequency), 0);
    return [String(distance), (sum / 32).toFixed(3)];
  });
  assert.deepEqual(await cells(), scores.flat());
});

test('vite-worker: types fit, and the built page gets its numbers', async (t) => {
  const folder = copyOf('vite-worker');
  await run([join(base, 'node_modules', 'typescript', 'bin', 'tsc')], { cwd: folder });
  await run([join(base, 'node_modules', 'vite', 'bin', 'vite.js'), 'build'], { cwd: folder });
  const { page, complaints } = await pageOf(t, join(folder, 'dist'));
  const text = () => page.evaluate(() => document.querySelector('output').textContent);
  await until(text, 'the numbers');
  assert.match(await text(), new RegExp(`^${8 * 512 * 64} numbers in \\d+ ms \\((relaxed|simd128)\\)$`));
  assert.deepEqual(complaints, []);
});

test('attention-explorer: a picture a head, and errors in words', async (t) => {
  const folder = copyOf('attention-explorer');
  checkpointIn(folder, tinyLlama());
  const { page, complaints } = await pageOf(t, folder);
  const input = page.locator('#files');
  const pick = (...names) => input.setInputFiles(names.map((name) => join(folder, name)));
  await pick('config.json', 'model.safetensors');
  const { num_hidden_layers: layers, num_attention_heads: heads } = tinyLlama().config;
  const pictures = () => page.evaluate(() => document.querySelectorAll('canvas').length);
  await until(async () => (await pictures()) === layers * heads, 'the pictures');
  await page.locator('#ids').fill('1 2 999999');
  await page.locator('#ids').blur();
  const status = () => page.evaluate(() => document.querySelector('[role=status]').textContent);
  assert.match(await until(status, 'the error'), /^model\.forward: ids\b.*999999/);
  assert.deepEqual(complaints, []);
});

test('semantic-search: a sentence is nearest to itself', async () => {
  const folder = copyOf('semantic-search');
  checkpointIn(folder, tinyBert());
  const question = 'The harbour is full of small boats.';
  const { stdout } = await run(['main.js', '.', question], { cwd: folder });
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 4);
  assert.equal(lines[0], `1.000 ${question}`);
});

test('chat: each turn is answered, until the cache is full', async () => {
  const folder = copyOf('chat');
  checkpointIn(folder, tinyLlama());
  const turns = 40; // more than the cache of 64 tokens has room for
  writeFileSync(join(folder, 'turns'), 'the warm cat\n'.repeat(turns));
  // Keeps what the tokenizer is asked for.
  const hook = `import { appendFileSync } from 'node:fs';
import { Tokenizer } from '@huggingface/tokenizers';
const { encode } = Tokenizer.prototype;
Tokenizer.prototype.encode = function (text, ...rest) {
  appendFileSync('asked', text + '\\0');
  return encode.call(this, text, ...rest);
};`;
  writeFileSync(join(folder, 'hook.mjs'), hook);
  const command = `exec "$0" "$@" --import ./hook.mjs main.js . < turns`;
  const { stdout, stderr } = await run(['-c', command, process.execPath, ...nodeFlags], { cwd: folder, command: 'sh' });
  assert.equal(stderr, '');
  const answers = stdout.split('> ').slice(1);
  assert.ok(answers.length > 1 && answers.length < turns, stdout);
  for (const answer of answers.slice(0, -1)) assert.match(answer, /^.*\n$/, stdout);
  assert.equal(answers.at(-1), 'The conversation is as long as the cache.\n');
  const [first, ...others] = (await readFile(join(folder, 'asked'), 'utf8')).split('\0').slice(0, -1);
  assert.match(first, /^<\|im_start\|>user\n/);
  assert.ok(others.length > 0);
  for (const turn of others) assert.match(turn, /^<\|im_end\|>\n<\|im_start\|>user\n/); // the answer before it has an end
});

test('every example is run here', async () => {
  const own = await readFile(new URL(import.meta.url), 'utf8');
  // Their tools are those of npm run check:consumers.
  const matrix = await readFile(join(root, 'tests', 'consumers', 'matrix', 'list.mjs'), 'utf8');
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter((each) => each.isDirectory());
  for (const { name } of folders) {
    assert.ok(own.includes(`copyOf('${name}')`) || matrix.includes(`example('${name}')`), name);
  }
});
