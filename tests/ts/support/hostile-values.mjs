// Values that no argument takes, or not every one: by name, { kind, type, make }. `type` is what the compiler knows of it;
// `never` is true of what nothing takes. `kind` is one of 25.
import { detached } from './arrays.mjs';

const rows = [];
const add = (kind, type, makes, never = false) => {
  for (const [label, make] of Object.entries(makes)) rows.push({ kind, type, label: `${kind}: ${label}`, make, never });
};
const huge = 'x'.repeat(20_000);
class Settings {
  causal = true;
}
const revoked = (target) => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
const throwing = (target) =>
  new Proxy(target, {
    get() {
      throw new Error('mine');
    },
  });

/** The values, with tensors of the instance of the calls and of another. */
export function hostileValues({ rw, kept }, other) {
  rows.length = 0;
  const [tensor, foreign, dead] = [rw.tensor([3, 5]), other.tensor([2, 3, 4]), rw.tensor([2, 3, 4])];
  dead.dispose();
  kept.push(tensor, foreign);
  const deadPlan = rw.rope({ headDim: 4 });
  deadPlan.dispose();
  const foreignPlan = other.rope({ headDim: 4 });
  add('undefined', 'undefined', { undefined: () => undefined });
  add('null', 'null', { null: () => null });
  add('text', 'string', { empty: () => '', four: () => '4', nonsense: () => 'nonsense', proto: () => '__proto__' });
  add('long text', 'string', { '20,000 characters': () => huge });
  add('boolean', 'boolean', { true: () => true, false: () => false });
  add('BigInt', 'bigint', { '4n': () => 4n, '2n ** 64n': () => 2n ** 64n, 'of 3,000 digits': () => 10n ** 3000n });
  add('symbol', 'symbol', { symbol: () => Symbol('s'), 'a known one': () => Symbol.iterator });
  add('function', '() => number', { function: () => () => 4, class: () => Settings });
  add('NaN', 'number', { NaN: () => Number.NaN });
  add('infinity', 'number', { Infinity: () => Infinity, '-Infinity': () => -Infinity });
  add('fraction', 'number', { 1.5: () => 1.5, '1e-46': () => 1e-46, '5e-324': () => 5e-324 });
  add('at most 0', 'number', { 0: () => 0, '-0': () => -0, '-1': () => -1 });
  const large = { '2 ** 31': () => 2 ** 31, '2 ** 32 + 1': () => 2 ** 32 + 1, '2 ** 53': () => 2 ** 53 };
  add('large', 'number', { ...large, '1e308': () => 1e308 });
  add('array', 'number[]', { '[4]': () => [4], '[NaN]': () => [Number.NaN], '[-1.5]': () => [-1.5] });
  add('array', 'never[]', { '[]': () => [] });
  add('array', 'symbol[]', { '[symbol]': () => [Symbol('s')] });
  // biome-ignore lint/suspicious/noSparseArray: the hole is the point
  add('sparse', '(number | undefined)[]', { '[hole, 1]': () => [, 1], 'only holes': () => new Array(2) });
  const kinds = { Float64Array, Int32Array, Uint8Array, Uint16Array, BigInt64Array };
  for (const [name, Kind] of Object.entries(kinds)) add('typed array', name, { [name]: () => new Kind(3) });
  add('typed array', 'Float32Array', {
    'of length 0': () => new Float32Array(0),
    '7 numbers': () => new Float32Array(7),
  });
  add('bytes', 'DataView', { DataView: () => new DataView(new ArrayBuffer(12)) });
  add('bytes', 'ArrayBuffer', { ArrayBuffer: () => new ArrayBuffer(12) });
  const gone = { floats: () => detached(new Float32Array(24)), doubles: () => detached(new Float64Array(3)) };
  add('detached', 'Float32Array', { ...gone, bytes: () => detached(new Uint8Array(24)) }, true);
  add('detached', 'ArrayBuffer', { buffer: () => detached(new Uint8Array(24)).buffer }, true);
  const beyond = (Kind) => {
    const buffer = new ArrayBuffer(96, { maxByteLength: 96 });
    const array = new Kind(buffer, 48, 3);
    buffer.resize(48);
    return array;
  };
  const shrunk = { floats: () => beyond(Float32Array), doubles: () => beyond(Float64Array) };
  add('behind the end of its buffer', 'Float32Array', { ...shrunk, bytes: () => beyond(Uint8Array) }, true);
  const tracking = () => new Float32Array(new ArrayBuffer(96, { maxByteLength: 4096 }));
  add('resizable', 'Float32Array', { 'length-tracking': tracking });
  add('shared', 'Float32Array<SharedArrayBuffer>', { floats: () => new Float32Array(new SharedArrayBuffer(96)) });
  add('proxy', '{}', { 'revoked object': () => revoked({}) }, true);
  add('proxy', '{}', { 'whose traps throw': () => throwing({}) });
  add(
    'proxy',
    'number[]',
    { 'revoked array': () => revoked([]), 'array whose traps throw': () => throwing([1]) },
    true,
  );
  add('proxy', '() => number', { 'revoked function': () => revoked(() => 4) });
  const forged = (tag, own) => () => ({ [Symbol.toStringTag]: tag, ...own });
  add('another name', '{}', {
    Float32Array: forged('Float32Array', { length: 4, byteLength: 16, buffer: new ArrayBuffer(16), byteOffset: 0 }),
    ArrayBuffer: forged('ArrayBuffer', { byteLength: 8 }),
    Tensor: forged('Tensor', { dims: [1] }),
    URL: forged('URL'),
    Blob: forged('Blob', { size: 4, type: '' }),
    File: forged('File', { size: 4, slice: () => 4 }),
    Response: forged('Response', { ok: true }),
    AbortSignal: forged('AbortSignal', { aborted: false }),
    'WebAssembly.Module': forged('WebAssembly.Module'),
  });
  const made = (of) => Object.create(Object.getPrototypeOf(of));
  add('only a prototype', 'Tensor', { Tensor: () => made(tensor) }, true);
  add('only a prototype', 'RopePlan', { RopePlan: () => made(foreignPlan) }, true);
  const platform = { Float32Array, ArrayBuffer, URL, Blob, Response, AbortSignal, Map };
  for (const [name, { prototype }] of Object.entries(platform))
    add('only a prototype', '{}', { [name]: () => Object.create(prototype) });
  add('object', '{}', { '{}': () => ({}) });
  add('object', '{ nonsense: number }', { 'an unknown key': () => ({ nonsense: 1 }) });
  add('object', '{ nonsense: number }', { 'a long key': () => ({ [huge]: 1 }) });
  add('other object', 'Map<string, number>', { Map: () => new Map([['length', 4]]) });
  add('other object', 'Date', { Date: () => new Date(0) });
  add('other object', '{ causal: boolean }', { 'an instance of a class': () => new Settings() });
  add('long list', 'number[]', { '3,000 ones': () => new Array(3000).fill(1) });
  add('long list', '{ data: Float32Array; shape: number[] }', {
    '3,000 axes': () => ({ data: new Float32Array(1), shape: new Array(3000).fill(1) }),
  });
  add('wrong shape', '{ data: Float32Array; shape: number[] }', {
    'no numbers': () => ({ data: new Float32Array(0), shape: [0, 4] }),
    'a number too few': () => ({ data: new Float32Array(23), shape: [2, 3, 4] }),
    'a product of 2^32': () => ({ data: new Float32Array(1), shape: [65536, 65536] }),
  });
  add('handle', 'Tensor', { 'of another shape': () => tensor });
  add('handle', 'Tensor', { 'of another instance': () => foreign, disposed: () => dead }, true);
  add('handle', 'RopePlan', { 'of another instance': () => foreignPlan, disposed: () => deadPlan }, true);
  return Object.fromEntries(rows.map((row, i) => [`v${i}`, row]));
}
