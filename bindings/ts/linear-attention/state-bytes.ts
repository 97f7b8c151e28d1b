// A saved state of linear attention: 64 bytes of header, little-endian, then the sums as the core keeps them.
//   0 "RWLS"   4 version   8 kind   12 batch   16 key heads   20 head size   24 value size   28 plan
//   32 tokens (float64)   40 position of the first token (float64)   48 bytes of sums   52 checksum   56 zeros
import { ArgumentRangeError } from '../runtime/errors.js';
import { bytesOf, type OwnBytes } from '../runtime/typed-arrays.js';

const magic = 0x534c5752; // "RWLS"
const version = 1;
const headerBytes = 64;
const checksumAt = 52;

/** What a saved state must have in common with the one that takes it over. @internal */
export interface LinearStateIdentity {
  /** Kernel, normalised or not, and which sums RoPE turns. */
  readonly kind: number;
  readonly batch: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
  /** Fingerprint of the rotary plan, 0 without one. */
  readonly plan: number;
  /** Bytes of the sums. */
  readonly payload: number;
}

const fields: readonly (readonly [at: number, field: keyof LinearStateIdentity, meaning: string])[] = [
  [8, 'kind', 'form'],
  [12, 'batch', 'batch size'],
  [16, 'kvHeads', 'number of key heads'],
  [20, 'headDim', 'head size'],
  [24, 'valueDim', 'value head size'],
  [28, 'plan', 'rotary plan'],
  [48, 'payload', 'number of bytes'],
];

// FNV-1a over 32-bit words, the checksum's own counting as 0.
function checksum(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let hash = 0x811c9dc5;
  for (let at = 0; at < bytes.length; at += 4) {
    const word = at === checksumAt ? 0 : view.getUint32(at, true);
    // Multiplying carries upwards only: the high bits are folded back, so that no bit of a word goes unseen.
    hash = Math.imul(hash ^ word, 0x01000193);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}

/** @internal */
export function packState(identity: LinearStateIdentity, tokens: number, start: number, payload: Uint8Array): OwnBytes {
  const bytes = new Uint8Array(headerBytes + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, magic, true);
  view.setUint32(4, version, true);
  for (const [at, field] of fields) view.setUint32(at, identity[field], true);
  view.setFloat64(32, tokens, true);
  view.setFloat64(40, start, true);
  bytes.set(payload, headerBytes);
  view.setUint32(checksumAt, checksum(bytes), true);
  return bytes;
}

/** @internal */
export function unpackState(where: string, given: Uint8Array, identity: LinearStateIdentity) {
  const refuse = (problem: string): never => {
    throw new ArgumentRangeError(where, 'bytes', given, problem);
  };
  const bytes = bytesOf(given).slice(); // a copy: the bytes may change before they are used
  if (bytes.length < headerBytes) refuse(`are ${bytes.length}; a saved state has ${headerBytes} and its sums`);
  const view = new DataView(bytes.buffer);
  if (view.getUint32(0, true) !== magic) refuse('do not begin as a saved state of linear attention does');
  const found = view.getUint32(4, true);
  if (found !== version) refuse(`are of version ${found} of the format; this reads version ${version}`);
  const whole = headerBytes + view.getUint32(48, true);
  if (bytes.length !== whole) refuse(`are ${bytes.length}; their header promises ${whole}`);
  if (bytes.length % 4 !== 0 || checksum(bytes) !== view.getUint32(checksumAt, true)) {
    refuse('were altered: the checksum does not fit');
  }
  for (const [at, field, meaning] of fields) {
    const value = view.getUint32(at, true);
    const wanted = identity[field];
    if (value === wanted) continue;
    const isSize = field !== 'kind' && field !== 'plan';
    refuse(`are of a state with another ${meaning}${isSize ? `: ${value}, this one has ${wanted}` : ''}`);
  }
  const tokens = view.getFloat64(32, true);
  const start = view.getFloat64(40, true);
  const counted = Number.isSafeInteger(tokens + 1) && tokens >= 0 && Number.isSafeInteger(start + tokens);
  if (!counted) refuse(`were altered: they tell of ${tokens} tokens`);
  if (view.getUint32(56, true) !== 0 || view.getUint32(60, true) !== 0) {
    refuse('were altered: the end of their header is not zero');
  }
  return { tokens, start, payload: bytes.subarray(headerBytes) };
}
