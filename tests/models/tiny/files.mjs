// Models as files in Hugging Face's format.
import { fileOf, writeSafetensors } from '../../ts/support/safetensors.mjs';

const metadata = { format: 'pt' };

/** The bytes of model.safetensors. */
export const safetensorsOf = ({ tensors }) => writeSafetensors(tensors, metadata);

/** A model in `parts` files with their index: { file name: bytes }. */
export function shardsOf({ tensors }, parts) {
  const names = Object.keys(tensors);
  const fileName = (part) =>
    `model-${String(part + 1).padStart(5, '0')}-of-${String(parts).padStart(5, '0')}.safetensors`;
  const files = {};
  const map = {};
  for (let part = 0; part < parts; ++part) {
    const own = names.slice((part * names.length) / parts, ((part + 1) * names.length) / parts);
    for (const name of own) map[name] = fileName(part);
    files[fileName(part)] = writeSafetensors(Object.fromEntries(own.map((name) => [name, tensors[name]])), metadata);
  }
  const total = Object.values(tensors).reduce((bytes, { data }) => bytes + data.byteLength, 0);
  const index = { metadata: { total_size: total }, weight_map: map };
  files['model.safetensors.index.json'] = new TextEncoder().encode(JSON.stringify(index));
  return files;
}

/**
 * A bfloat16 file as pieces of at most 4 MB, for files too large for memory. `fill(piece, shape, [deviation, mean],
 * at)` writes the numbers of a tensor from index `at`.
 */
export function* piecesOf(shapes, fill) {
  const sizes = shapes.map(([, shape]) => shape.reduce((product, n) => product * n, 1));
  const header = { __metadata__: metadata };
  let end = 0;
  shapes.forEach(([name, shape], i) => {
    header[name] = { dtype: 'BF16', shape, data_offsets: [end, end + 2 * sizes[i]] };
    end += 2 * sizes[i];
  });
  // The data begins at a multiple of 8.
  const text = JSON.stringify(header);
  yield fileOf(text + ' '.repeat((8 - (text.length % 8)) % 8));
  const buffer = new Uint16Array(1 << 21);
  for (const [i, [name, , deviation, mean = 0]] of shapes.entries()) {
    for (let at = 0; at < sizes[i]; at += buffer.length) {
      const piece = buffer.subarray(0, Math.min(buffer.length, sizes[i] - at));
      fill(piece, { name, deviation, mean, at });
      yield new Uint8Array(piece.buffer, 0, piece.byteLength);
    }
  }
}
