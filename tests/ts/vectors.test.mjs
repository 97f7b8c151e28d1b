// The runner of the test vectors: cases that it must fail, cases that it skips by name, and its exit codes.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderWith } from './support/folder.mjs';
import { root, run } from './support/node.mjs';
import { writeSafetensors } from './support/safetensors.mjs';

const f32 = (shape, data) => ({ shape, dtype: 'f32', data });
const i64 = (shape, data) => ({ shape, dtype: 'i64', data });
const wants = (shape, data, tol = 1e-6) => ({ shape, dtype: 'f64', data, tol });

const table = {
  name: 'table',
  op: 'sinusoidal',
  params: { dim: 2, base: 10000, layout: 'interleaved' },
  inputs: { positions: i64([2], [0, 1]) },
  outputs: { out: wants([2, 2], [0, 1, Math.sin(1), Math.cos(1)]) },
};
const q = f32([1, 1, 1, 1], [1]);
const k = f32([1, 1, 2, 1], [1, 2]);
const attention = {
  name: 'a',
  op: 'attention',
  params: {},
  inputs: { q, k, v: k },
  outputs: { out: wants([1, 1, 1, 1], [1]) },
};
const hidden = { shape: [1, 1, 1, 2], dtype: 'f32', data: [0, null] };
const negative = { ...table, inputs: { positions: i64([1], [-3]) } };
const rope = {
  name: 'r',
  op: 'rope',
  params: {
    style: 'half',
    rotary_dim: 2,
    kind: 'yarn',
    factor: 2,
    original_max_position_embeddings: 64,
    inverse: false,
  },
  inputs: { x: f32([1, 1, 1, 2], [0, 0]), positions: i64([1], [1]) },
  outputs: { out: wants([1, 1, 1, 2], [0, 0]) },
};

const configCase = (outputs, layer_type) => ({
  name: 'c',
  op: 'rope_config',
  params: {
    config: { model_type: 'cohere2', hidden_size: 4, num_attention_heads: 2, rope_theta: 50 },
    ...(layer_type && { layer_type }),
  },
  outputs: Object.fromEntries(Object.entries(outputs).map(([name, value]) => [name, i64([], [value])])),
});

async function runner(paths, cwd = root) {
  const command = [join(root, 'tests', 'vectors', 'run.mjs'), ...paths];
  const child = await run(command, { cwd }).catch((error) => error);
  return {
    code: child.code ?? 0,
    out: child.stdout,
    err: child.stderr,
    last: child.stdout.trimEnd().split('\n').at(-1),
  };
}

// The verdict on one case: the counts of one build (every build counts the same), and all that was printed.
async function verdictOn(t, each) {
  const folder = folderWith(t, { 'g.json': JSON.stringify({ format: 1, group: 'g', cases: [each] }) });
  const { code, out, last } = await runner([folder]);
  const builds = out.includes('relaxed: skipped') ? 1 : 3;
  const counts = last
    .match(/^(\d+) passed, (\d+) failed, (\d+) skipped$/)
    .slice(1)
    .map((n) => Number(n) / builds);
  return { status: ['passed', 'failed', 'skipped'][counts.indexOf(1)], code, out };
}

const cases = {
  'a right result': ['passed', table],
  'a wrong result': [
    'failed',
    { ...table, outputs: { out: wants([2, 2], [0, 1, 0.8, 0.5]) } },
    /out\[1, 0\] got .* want 0\.8, tol/,
  ],
  'a NaN in the result': [
    'failed',
    { ...attention, inputs: { q: f32([1, 1, 1, 1], [null]), k, v: k } },
    /out\[0, 0, 0, 0\] got NaN, want 1/,
  ],
  'a NaN that is wanted': ['failed', { ...table, outputs: { out: wants([2, 2], [0, 1, null, 0.5]) } }, /want NaN/],
  'another shape': [
    'failed',
    { ...table, outputs: { out: wants([4], [0, 1, Math.sin(1), Math.cos(1)]) } },
    /has shape \[2, 2\]/,
  ],
  'a tolerance that rtol makes': [
    'passed',
    { ...table, outputs: { out: { ...wants([2, 2], [0, 1.1, 0.8, 0.5], 0.05), rtol: 0.1 } } },
  ],
  'null in a mask': ['passed', { ...attention, inputs: { q, k, v: k, add_mask: hidden } }],
  'an error where none is wanted': [
    'failed',
    { ...table, params: { dim: -2 } },
    /threw ArgumentRangeError: sinusoidal: dim/,
  ],
  'an error that is wanted': ['passed', { ...table, params: { dim: -2 }, outputs: {}, expect: 'error' }],
  'a result where an error is wanted': ['failed', { ...table, outputs: {}, expect: 'error' }, /expected an error/],
  'an unknown operation': ['skipped', { ...table, op: 'nonsense' }, /^skipped operation nonsense: \d$/m],
  'an unknown param': ['skipped', { ...table, params: { dim: 2, twist: 1 } }, /^skipped sinusoidal: param twist: \d$/m],
  'an unknown word': ['skipped', { ...table, params: { dim: 2, layout: 'spiral' } }, /param layout = "spiral"/],
  'an unknown input': ['skipped', { ...attention, inputs: { q, k, v: k, sink: q } }, /attention: input sink/],
  'an unknown output': ['skipped', { ...table, outputs: { other: wants([1], [0]) } }, /sinusoidal: output other/],
  'an unknown dtype': [
    'skipped',
    { ...table, inputs: { positions: { shape: [1], dtype: 'u4', data: [1] } } },
    /dtype u4/,
  ],
  'an unknown param where an error is wanted': [
    'skipped',
    { ...table, params: { twist: 1 }, outputs: {}, expect: 'error' },
  ],
  'negative positions that are right': [
    'passed',
    { ...negative, outputs: { out: wants([1, 2], [Math.sin(-3), Math.cos(3)]) } },
  ],
  'an attention factor that does not follow but is given': [
    'passed',
    { ...rope, params: { ...rope.params, attention_factor: 0.9 } },
  ],
  'a configuration that is read': ['passed', configCase({ has_rope: 1, interleaved: 1, rotary_dim: 2, base: 50 })],
  'a layer without RoPE': ['passed', configCase({ has_rope: 0 }, 'full_attention')],
  'a pairing that is wrong': ['failed', configCase({ interleaved: 0 }), /interleaved\[\] got 1, want 0/],
  'an attention factor that a kind cannot have': [
    'failed',
    { ...rope, params: { ...rope.params, kind: 'linear', attention_factor: 0.9 } },
    /attention factor is 1, want 0\.9/,
  ],
};
for (const [what, [status, each, printed]] of Object.entries(cases)) {
  test(`${what} has ${status}`, async (t) => {
    const verdict = await verdictOn(t, each);
    assert.equal(verdict.status, status, verdict.out);
    assert.equal(verdict.code, status === 'failed' ? 1 : 0);
    if (printed) assert.match(verdict.out, printed);
  });
}

test('a folder is all its files, several paths are all of them, and paths are relative to where one stands', async (t) => {
  const file = JSON.stringify({ format: 1, group: 'g', cases: [table] });
  const folder = folderWith(t, { 'in/a.json': file, 'in/b.json': file, 'c.json': file, 'in/notes.txt': '' });
  const { code, out, last } = await runner(['in', 'c.json'], folder);
  const builds = out.includes('relaxed: skipped') ? 1 : 3;
  assert.deepEqual([code, last], [0, `${3 * builds} passed, 0 failed, 0 skipped`]);
});

test("Python's -Infinity is read, also where a text speaks of it", async (t) => {
  const text = JSON.stringify({
    format: 1,
    group: 'g',
    cases: [{ ...attention, note: 'a -Infinity', inputs: { q, k, v: k, add_mask: hidden } }],
  });
  const folder = folderWith(t, { 'g.json': text.replace('null', '-Infinity') });
  const { code, last } = await runner([folder]);
  assert.equal(code, 0);
  assert.match(last, /^\d passed, 0 failed, 0 skipped$/);
});

test("ONNX's files are counted and named", async (t) => {
  const folder = folderWith(t, {
    'o.json': JSON.stringify({ tests: { a: { op: 'Other' }, b: { op: 'Other' } } }),
  });
  const { code, out, last } = await runner([folder]);
  assert.equal(code, 0);
  assert.match(out, /^skipped operation onnx\/Other: \d$/m);
  assert.match(last, /^0 passed, 0 failed, [26] skipped$/);
});

// The verdict on a file of weights, as a case says it and as it is.
const weights = writeSafetensors({ w: { dtype: 'F32', shape: [2], data: Float32Array.of(1, -0) } });
const listed = { name: 'w', dtype: 'F32', shape: [2], values: [1, '-0'] }; // JSON.stringify loses the sign of a number
const fileCase = (verdict, bytes, tensors) => ({
  name: 'file',
  verdict,
  size: bytes.length,
  base64: Buffer.from(bytes).toString('base64'),
  tensors,
});
const verdicts = {
  'a file that is read rightly': ['passed', fileCase('ok', weights, [listed])],
  'a file whose tensors are not listed': ['passed', fileCase('ok', weights)],
  'a file with another value': [
    'failed',
    fileCase('ok', weights, [{ ...listed, values: [1, 2] }]),
    /w\[1\] is 0, want 2/,
  ],
  'a file with another sign of zero': ['failed', fileCase('ok', weights, [{ ...listed, values: [1, 0] }])],
  'a file of another shape': ['failed', fileCase('ok', weights, [{ ...listed, shape: [2, 1] }]), /want F32 \[2,1\]/],
  'a file with another name': [
    'failed',
    fileCase('ok', weights, [{ ...listed, name: 'x' }]),
    /has the tensors \["w"\]/,
  ],
  'a file without a tensor': ['failed', fileCase('ok', weights, []), /has the tensors/],
  'a file that is refused though right': ['failed', fileCase('ok', weights.subarray(1)), /threw SafetensorsError/],
  'a file that is rightly refused': ['passed', fileCase('error', weights.subarray(1))],
  'a file that is read though wrong': ['failed', fileCase('error', weights), /expected an error/],
  'an open case that is read': ['passed', fileCase('either', weights, [listed])],
  'an open case that is refused': ['passed', fileCase('either', weights.subarray(1))],
  'an open case that is read wrongly': ['failed', fileCase('either', weights, [{ ...listed, values: [1, 2] }])],
};
for (const [what, [status, each, printed]] of Object.entries(verdicts)) {
  test(`${what} has ${status}`, async (t) => {
    const folder = folderWith(t, { 'f.json': JSON.stringify({ format: 1, cases: [each] }) });
    const { code, out, last } = await runner([folder]);
    assert.match(last, new RegExp(`\\b[13] ${status}`), out);
    assert.equal(code, status === 'failed' ? 1 : 0);
    if (printed) assert.match(out, printed);
  });
}

const unusable = {
  'a path that is not there': ['nowhere.json', /^nowhere\.json: no such file or folder$/],
  'a file that is not JSON': ['bad.json', /^bad\.json: not JSON/],
  'a file of another kind': ['other.json', /^other\.json: not a vector file/],
  'a case without outputs': ['empty.json', /^empty\.json: case 0 \(x\): has no outputs/],
  'a case whose data does not fill its shape': [
    'short.json',
    /^short\.json: case 0 \(table\): positions has 1 numbers/,
  ],
  'a file of weights without a verdict': ['verdict.json', /^verdict\.json: case 0 \(file\): has the verdict "maybe"/],
  'a file of weights of another size': ['size.json', /^size\.json: case 0 \(file\): has \d+ bytes, not 7$/],
  'a folder without files': ['folder', /^folder: holds no \.json files$/],
};
for (const [what, [path, line]] of Object.entries(unusable)) {
  test(`${what} ends with 2 and one line`, async (t) => {
    const cases = (each) => JSON.stringify({ format: 1, group: 'g', cases: [each] });
    const folder = folderWith(t, {
      'bad.json': '{\n"a": nonsense }',
      'other.json': '{"format":2,"cases":[]}',
      'empty.json': cases({ name: 'x', op: 'y', outputs: {} }),
      'short.json': cases({ ...table, inputs: { positions: i64([2], [0]) } }),
      'verdict.json': JSON.stringify({ format: 1, cases: [fileCase('maybe', weights)] }),
      'size.json': JSON.stringify({ format: 1, cases: [{ ...fileCase('ok', weights), size: 7 }] }),
      'folder/readme.txt': '',
    });
    const { code, out, err } = await runner([path], folder);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err.trimEnd(), line);
    assert.equal(err.trimEnd().split('\n').length, 1);
  });
}
