// Writes safetensors files.

const bytesOf = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** A file with this header (text or an object) and these bytes. */
export function fileOf(header, data = new Uint8Array(0)) {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + data.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(data, 8 + text.length);
  return file;
}

/**
 * The bytes of a safetensors file.
 *
 * @param tensors { name: { dtype, shape, data } } or entries of that; data is a typed array whose bytes are written.
 * @param metadata { key: text }, optional.
 */
export function writeSafetensors(tensors, metadata) {
  const entries = Symbol.iterator in tensors ? [...tensors] : Object.entries(tensors);
  const fields = metadata === undefined ? [] : [`"__metadata__":${JSON.stringify(metadata)}`];
  let at = 0;
  for (const [name, { dtype, shape, data }] of entries) {
    const info = { dtype, shape, data_offsets: [at, at + data.byteLength] };
    fields.push(`${JSON.stringify(name)}:${JSON.stringify(info)}`);
    at += data.byteLength;
  }
  const data = new Uint8Array(at);
  at = 0;
  for (const [, each] of entries) {
    data.set(bytesOf(each.data), at);
    at += each.data.byteLength;
  }
  // The data begins at a multiple of 8, as the reference writes it.
  const header = `{${fields.join(',')}}`;
  const length = new TextEncoder().encode(header).length;
  return fileOf(header + ' '.repeat((8 - (length % 8)) % 8), data);
}
