// The programs of the chapter `compare`: attention with each encoding, by ropewalk, by NumPy and by PyTorch. All three
// make the same numbers, and each is run as the page shows it.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from 'ropewalk';
import { attentions, headDim, heads } from '../../web/src/chapters/compare/attention.js';
import { run } from '../ts/support/node.mjs';
import { noTorch, pythonWith } from '../ts/support/python.mjs';

const encodings = Object.keys(attentions);
const folderOf = (library) => fileURLToPath(new URL(`../../web/src/chapters/compare/${library}`, import.meta.url));

// Runs each file whose path is given; prints their weights and outputs.
const runner = `
import contextlib, io, json, runpy, sys
made = []
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        end = runpy.run_path(path)
    made.append({"weights": end["weights"].ravel().tolist(), "out": end["out"].ravel().tolist(), "said": said.getvalue()})
print(json.dumps(made))
`;

async function ofPython(command, library) {
  const paths = encodings.map((name) => `${folderOf(library)}/${name}.py`);
  const { stdout } = await run(['-c', runner, ...paths], { command });
  return JSON.parse(stdout);
}

// Outputs [T, H D] as [H, T, D], which the other libraries give.
const byHead = ({ data, shape: [rows, columns] }) =>
  Array.from({ length: rows * columns }, (_, i) => {
    const [head, row, column] = [Math.floor(i / (rows * headDim)), Math.floor(i / headDim) % rows, i % headDim];
    return data[row * heads * headDim + head * headDim + column];
  });

async function ofRopewalk() {
  const rw = await load({ simd: 'deterministic' });
  return encodings.map((name) => {
    const { scores, out } = attentions[name](rw);
    return {
      weights: Array.from(scores.data),
      out: out.shape.length === 2 ? byHead(out) : Array.from(out.data),
    };
  });
}

// ropewalk computes with 32 bits, the others with 64: 1e-5 of the largest number is 80 times the rounding of one, for sums
// of up to 16 products and an exponential.
function compare(name, made, expected) {
  for (const part of ['weights', 'out']) {
    assert.equal(made[part].length, expected[part].length, `${name}, ${part}`);
    const largest = Math.max(...expected[part].map(Math.abs));
    const worst = Math.max(...made[part].map((value, i) => Math.abs(value - expected[part][i])));
    assert.ok(worst <= 1e-5 * largest, `${name}, ${part}: apart by ${worst}, the largest is ${largest}`);
  }
}

test('each library has a program for each encoding, and for nothing else', () => {
  const files = encodings.map((name) => `${name}.py`).sort();
  for (const library of ['numpy', 'pytorch']) assert.deepEqual(readdirSync(folderOf(library)).sort(), files);
});

test('no two encodings give the same attention', async () => {
  const made = await ofRopewalk();
  assert.equal(new Set(made.map(({ weights }) => JSON.stringify(weights))).size, encodings.length);
});

test('NumPy gives the numbers of ropewalk, for every encoding', async () => {
  const command = await pythonWith('numpy');
  assert.ok(command, 'Python has no NumPy; on Debian, scripts/toolchain test installs it');
  const [expected, made] = [await ofPython(command, 'numpy'), await ofRopewalk()];
  for (const [i, name] of encodings.entries()) {
    compare(name, made[i], expected[i]);
    assert.match(expected[i].said, /^\[\[\[/, `${name} prints its output`);
  }
});

test('PyTorch gives the numbers of NumPy and of ropewalk, for every encoding', async (t) => {
  const [numpy, torch] = [await pythonWith('numpy'), await pythonWith('torch')];
  if (torch === undefined) return t.skip(noTorch);
  const [made, byNumpy, byRopewalk] = [
    await ofPython(torch, 'pytorch'),
    await ofPython(numpy, 'numpy'),
    await ofRopewalk(),
  ];
  for (const [i, name] of encodings.entries()) {
    compare(name, byNumpy[i], made[i]);
    compare(name, byRopewalk[i], made[i]);
    assert.match(made[i].said, /^tensor\(/, `${name} prints its output`);
  }
});
