// Files of weights read by an instance with threads, in a runtime that decodes no texts of shared memory, as browsers do not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openGguf, openSafetensors } from 'ropewalk/models';
import { load } from 'ropewalk/threads';
import { enableRelaxed } from '../../vectors/builds.mjs';
import { assertSameBits } from '../support/arrays.mjs';
import { writeGguf } from '../support/gguf.mjs';
import { writeSafetensors } from '../support/safetensors.mjs';

const options = { skip: !enableRelaxed() && 'this Node has no relaxed SIMD' };

function refuseShared(t) {
  const { decode } = TextDecoder.prototype;
  t.mock.method(TextDecoder.prototype, 'decode', function (bytes, ...rest) {
    if (bytes?.buffer instanceof SharedArrayBuffer) throw new TypeError('can not decode shared memory');
    return decode.call(this, bytes, ...rest);
  });
}

const w = { dtype: 'F32', shape: [4], data: Float32Array.of(1, 2, 3, 4) };

test('reads into the memory of an instance that is disposed of are refused', options, async () => {
  const rw = await load({ threads: 2 });
  const half = { dtype: 'F16', shape: [4], data: new Uint16Array(4) };
  const file = await openSafetensors(rw, writeSafetensors({ w, half }));
  const target = rw.tensor([4]);
  const begun = ['w', 'half'].map((name) => file.readInto(name, target));
  rw.dispose();
  const error = { name: 'StateError', message: /^this instance was disposed of; / };
  for (const read of [...begun, file.readInto('w', target)]) await assert.rejects(read, error);
});

test('names and texts of files are read from shared memory', options, async (t) => {
  refuseShared(t);
  const rw = await load({ threads: 2 });
  assert.equal(rw.info().threads, 2, rw.info().why);
  const files = [
    await openSafetensors(rw, writeSafetensors({ w }, { format: 'pt' })),
    await openGguf(rw, writeGguf({ name: ['str', 'tiny'], list: [['str'], ['a', 'b']] }, { w })),
  ];
  for (const file of files) {
    assert.deepEqual(file.names, ['w']);
    assertSameBits(await file.tensor('w'), w.data);
  }
  assert.deepEqual([...files[0].metadata], [['format', 'pt']]);
  const entries = [
    ['name', 'tiny'],
    ['list', ['a', 'b']],
  ];
  assert.deepEqual([...files[1].metadata], entries);
  await assert.rejects(
    openSafetensors(
      rw,
      writeSafetensors([
        ['w', w],
        ['w', w],
      ]),
    ),
    {
      name: 'SafetensorsError',
      tensor: 'w',
    },
  );
  await assert.rejects(openGguf(rw, writeGguf({ name: ['str', Uint8Array.of(0xff)] }, { w })), {
    name: 'GgufError',
    key: 'name',
  });
  rw.dispose();
});
