// Bad values for each type of argument: { value, error, shows, label }. `shows` is the text of the value in messages,
// `label` its name in failing tests.
import { runInNewContext } from 'node:vm';
import { detached } from './arrays.mjs';

/** The names of the errors that refuse something; InstanceLostError is none of them. */
export const errorNames = new Set([
  ...['ArgumentTypeError', 'ArgumentRangeError', 'StateError', 'OutOfMemoryError', 'UnsupportedError'],
  ...['SafetensorsError', 'GgufError', 'StorageError', 'TrainingError'],
]);

export const wrongType = (value, shows, label = shows) => ({ value, shows, label, error: TypeError });
export const outOfRange = (value, shows = String(value), label = shows) => ({ value, shows, label, error: RangeError });

// Of the right type, with nothing in it any more: which class of error tells that is open.
export const gone = (array) => ({ value: detached(array), shows: '', label: 'a detached array', error: Error });

/** For an argument without a default: leaving it out is refused too. */
export const required = (values) => [wrongType(undefined, 'undefined'), ...values];

const notANumber = [
  ...[wrongType(null, 'null'), wrongType('4', '"4"'), wrongType('', '""'), wrongType(true, 'true')],
  ...[wrongType(4n, '4n'), wrongType([4], '[4]'), wrongType({}, 'an object'), wrongType(() => 4, 'a function')],
];

export const notFinite = [...notANumber, ...[Number.NaN, Infinity, -Infinity].map((v) => outOfRange(v))];
export const notNonNegative = [...notFinite, outOfRange(-1)];
export const notPositive = [...notNonNegative, outOfRange(0), outOfRange(-0, '0', '-0')];

export const notAnInteger = ({ min, max }) => [
  ...notFinite,
  ...[1.5, min - 1, max + 1, 2 ** 53, -(2 ** 53), 1e308].map((v) => outOfRange(v)),
];

export const notEven = ({ min, max }) => [...notAnInteger({ min, max }), outOfRange(min + 1)];

export const notABoolean = [
  ...[wrongType(null, 'null'), wrongType(0, '0'), wrongType(1, '1'), wrongType(1n, '1n')],
  ...[wrongType('true', '"true"'), wrongType({}, 'an object')],
];

export const notAChoice = [
  ...[wrongType(null, 'null'), wrongType(0, '0'), wrongType(true, 'true'), wrongType({}, 'an object')],
  ...['', 'nonsense', 'toString', '__proto__'].map((word) => outOfRange(word, JSON.stringify(word))),
];

/** Not an object of options. (An unknown key is refused by its own name.) */
export const notOptions = [
  ...[wrongType(null, 'null'), wrongType('text', '"text"'), wrongType(1, '1'), wrongType(false, 'false')],
  ...[wrongType(1n, '1n'), wrongType([], '[]'), wrongType(new Float32Array(1), 'Float32Array(1)')],
  wrongType(() => {}, 'a function'),
];

/** Objects with options that are not among their own enumerable keys. */
export const notPlain = [
  ...[wrongType(new Map([['causal', true]]), 'Map'), wrongType(Object.create({ causal: true }), '', 'a prototype')],
  wrongType(
    new (class Settings {
      get causal() {
        return true;
      }
    })(),
    'Settings',
  ),
  wrongType(Object.create(Object.create(null, { causal: { value: true } })), '', 'a prototype without a root'),
];

/** Not a Float32Array of this length. */
export const notFloats = (length) => [
  ...[wrongType(null, 'null'), wrongType('text', '"text"'), wrongType(1, '1'), wrongType({ length }, 'an object')],
  wrongType(Array(length).fill(0), undefined, 'a plain array'),
  ...[Float64Array, Int32Array, Uint8Array].map((Kind) => wrongType(new Kind(length), `${Kind.name}(${length})`)),
  wrongType(new DataView(new ArrayBuffer(4 * length)), 'DataView'),
  wrongType(new ArrayBuffer(4 * length), 'ArrayBuffer'),
  gone(new Float32Array(length)),
  ...notOfLength(Float32Array, length),
];

export const notOfLength = (Kind, length) =>
  [length - 1, length + 1].map((n) =>
    outOfRange(
      Kind.from({ length: n }, () => 0),
      String(n),
      `${Kind.name}(${n})`,
    ),
  );

/** Not a list of this many positions. */
export const notPositions = (length) => {
  const listWith = (entry) => [...Array(length - 1).fill(0), entry];
  return [
    ...[wrongType(null, 'null'), wrongType('0000', '"0000"'), wrongType(1, '1'), wrongType(true, 'true')],
    wrongType(new DataView(new ArrayBuffer(length)), 'DataView'),
    wrongType(runInNewContext('new DataView(new ArrayBuffer(8))'), 'DataView', 'a DataView of another realm'),
    gone(new Float64Array(length)),
    ...['0', null, undefined, true].map((v) => wrongType(listWith(v), v === '0' ? '"0"' : String(v))),
    ...[Number.NaN, Infinity, 0.5, 2 ** 53, -(2 ** 53), 1e308].map((v) => outOfRange(listWith(v), String(v))),
    outOfRange(listWith(2n ** 53n), '9007199254740992', '2n ** 53n'),
    outOfRange(
      Float64Array.from({ length }, () => 0.5),
      '0.5',
      'a Float64Array of halves',
    ),
  ];
};

/** Not a shape: a list of sizes whose product is at most 2^30. */
export const notAShape = [
  ...[wrongType(null, 'null'), wrongType('23', '"23"'), wrongType(6, '6'), wrongType({ length: 1 }, 'an object')],
  wrongType(Int32Array.of(2, 3), 'Int32Array(2)'),
  ...['3', null, true, 3n].map((v) => wrongType([2, v], v === '3' ? '"3"' : String(v))),
  // biome-ignore lint/suspicious/noSparseArray: the hole is the point
  ...[wrongType([2, , 3], 'undefined', '[2, hole, 3]'), wrongType(new Array(2), 'undefined', 'new Array(2)')],
  ...[Number.NaN, -1, 1.5, 2 ** 53, 1e308].map((v) => outOfRange([2, v], String(v))),
  ...[[2 ** 31, 2], [2 ** 30 + 1], [2 ** 16, 2 ** 16]].map((v) => outOfRange(v, String(v[0]))),
  outOfRange([...Array(20).fill(2 ** 53 - 1), 0], '', 'sizes whose product is infinite before a zero comes'),
  outOfRange([...Array(40).fill(2 ** 30), 0], '', 'sizes that fit, whose product is infinite before a zero comes'),
];

/** For arrays of numbers with a shape, or tensors. */
export const notArrays = [
  ...[wrongType(null, 'null'), wrongType(1, '1'), wrongType([1], '[1]'), wrongType({}, 'an object')],
  wrongType(new Float32Array(4), 'Float32Array(4)'),
];
