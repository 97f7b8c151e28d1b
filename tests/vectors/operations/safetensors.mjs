// Safetensors files: opens them, reads every tensor, and compares it with the case.
import { openSafetensors } from 'ropewalk/models';
import { WrongResult } from './operation.mjs';

// What has no array is read as bytes.
const withoutArray = /^(C64|F8_|F6_|F4)/;

async function valuesOf(file, name) {
  const { dtype, byteLength } = file.info(name);
  if (dtype === 'F16' || dtype === 'BF16') return file.tensor(name, { as: 'float32' });
  if (!withoutArray.test(dtype)) return file.tensor(name);
  let bytes = 0;
  await file.stream(name, (piece) => {
    bytes += piece.length;
  });
  if (bytes !== byteLength) throw new WrongResult(`${name} gave ${bytes} of ${byteLength} bytes`);
  return undefined;
}

async function check(file, tensors) {
  const listed = new Map(tensors?.map((each) => [each.name, each]));
  const names = [...listed.keys()].sort();
  if (tensors !== undefined && String([...file.names].sort()) !== String(names)) {
    throw new WrongResult(`has the tensors ${JSON.stringify(file.names)}, want ${JSON.stringify(names)}`);
  }
  for (const name of file.names) {
    const got = await valuesOf(file, name);
    const want = listed.get(name);
    if (want === undefined) continue;
    const { dtype, shape } = file.info(name);
    if (dtype !== want.dtype || String(shape) !== String(want.shape)) {
      throw new WrongResult(`${name} is ${dtype} [${shape}], want ${want.dtype} [${want.shape}]`);
    }
    const wrong = want.values.findIndex((value, i) => !Object.is(Number(got?.[i]), Number(value)));
    if (got !== undefined && (wrong >= 0 || got.length !== want.values.length)) {
      throw new WrongResult(`${name}[${wrong}] is ${got[wrong]}, want ${want.values[wrong]}`);
    }
  }
}

export const safetensors = {
  async safetensors(rw, { file: bytes, tensors }) {
    const { usedBytes, liveObjects } = rw.memory();
    try {
      const file = await openSafetensors(rw, bytes);
      await check(file, tensors);
      file.dispose();
    } finally {
      const after = rw.memory();
      if (after.usedBytes !== usedBytes || after.liveObjects !== liveObjects) {
        // biome-ignore lint/correctness/noUnsafeFinally: memory that is lost is worse than what was thrown
        throw new WrongResult(`left ${after.usedBytes - usedBytes} bytes in the heap`);
      }
    }
    return {};
  },
};
