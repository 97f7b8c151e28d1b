// GGUF files: opens them, reads every tensor and the metadata, multiplies by the first tensor, and compares with the case.
import { openGguf } from 'ropewalk/models';
import { WrongResult } from './operation.mjs';

const blocks = /^Q/;
const floats = /^(F32|F16|BF16)$/;

function near(what, got, want, tol, rtol = 0) {
  if (got.length !== want.length) throw new WrongResult(`${what} has ${got.length} numbers, want ${want.length}`);
  want.forEach((value, i) => {
    const found = Number(got[i]);
    if (!Object.is(found, Number(value)) && !(Math.abs(found - value) <= tol + rtol * Math.abs(value))) {
      throw new WrongResult(`${what}[${i}] is ${found}, want ${value} within ${tol + rtol * Math.abs(value)}`);
    }
  });
}

const isDecoded = (dtype) => blocks.test(dtype) || floats.test(dtype);

async function checkTensors(file, tensors) {
  const names = tensors.map(({ name }) => name).sort();
  if (String([...file.names].sort()) !== String(names)) {
    throw new WrongResult(`has the tensors ${JSON.stringify(file.names)}, want ${JSON.stringify(names)}`);
  }
  for (const { name, type, shape, values } of tensors) {
    const info = file.info(name);
    if (info.dtype !== type || String(info.shape) !== String(shape)) {
      throw new WrongResult(`${name} is ${info.dtype} [${info.shape}], want ${type} [${shape}]`);
    }
    near(name, await file.tensor(name, isDecoded(type) ? { as: 'float32' } : {}), values, 0, 1e-6);
  }
}

function checkMetadata(file, metadata) {
  for (const [key, want] of Object.entries(metadata)) {
    const value = file.metadata.get(key);
    const got = ArrayBuffer.isView(value)
      ? Array.from(value, Number)
      : typeof value === 'bigint'
        ? Number(value)
        : value;
    const single = typeof got === 'number' ? Math.fround(want) === got || want === got : false;
    if (!single && JSON.stringify(got) !== JSON.stringify(want)) {
      throw new WrongResult(`${key} is ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
    }
  }
}

// y = W x, with x as it is and, for blocks, rounded to int8.
async function checkProducts(rw, file, products) {
  const [name] = file.names;
  const { dtype, shape } = file.info(name);
  for (const { x, y, tol_float: tolFloat, tol_int8: tolInt8 } of products) {
    const isBlock = blocks.test(dtype);
    const data = await file.tensor(name, isBlock ? {} : { as: 'float32' });
    const weight = isBlock ? { type: dtype.toLowerCase(), data, shape } : { data, shape };
    for (const [arithmetic, tol] of Object.entries({ float32: tolFloat, int8: tolInt8 })) {
      if (tol === undefined) continue;
      const layer = rw.linear({ weight, arithmetic });
      const input = rw.tensor([1, x.length], Float32Array.from(x));
      try {
        const out = layer.apply(input);
        near(`${arithmetic} product`, out.data(), y, tol);
        out.dispose();
      } finally {
        input.dispose();
        layer.dispose();
      }
    }
  }
}

export const gguf = {
  async gguf(rw, { file: bytes, tensors, metadata, products }) {
    const { usedBytes, liveObjects } = rw.memory();
    let file;
    try {
      file = await openGguf(rw, bytes);
      for (const name of file.names) await file.tensor(name);
      if (tensors !== undefined) await checkTensors(file, tensors);
      if (metadata !== undefined) checkMetadata(file, metadata);
      if (products !== undefined) await checkProducts(rw, file, products);
    } finally {
      file?.dispose();
      const after = rw.memory();
      if (after.usedBytes !== usedBytes || after.liveObjects !== liveObjects) {
        // biome-ignore lint/correctness/noUnsafeFinally: memory that is lost is worse than what was thrown
        throw new WrongResult(`left ${after.usedBytes - usedBytes} bytes in the heap`);
      }
    }
    return {};
  },
};
