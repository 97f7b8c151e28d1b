// The contract between C++ and TypeScript (bindings/calls): both sides, generated from one table, agree on every field.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsJs, callsTypes, cpp, enumsJs } from '../../bindings/calls/generate.mjs';
import * as calls from '../../build/package/calls.js';

const table = {
  enums: { Shape: { header: 'shape.h', values: { round: 'kRound', flat: 'kFlat' } } },
  calls: {
    Size: { fields: { width: 'size_t', height: 'size_t' } },
    Box: {
      header: 'box.h',
      fields: { at: 'pointer', isOpen: 'bool', shape: 'Shape', inner: 'Size', edges: 'float[2]' },
    },
  },
  results: { Area: { fields: { square: 'double', isLarge: 'bool' } } },
};
const box = { at: 64, isOpen: true, shape: 1, inner: { width: 3, height: 4 }, edges: [5, 6] };
const moduleOf = (text) => import(`data:text/javascript,${encodeURIComponent(text)}`);

// Where the header reads each field, by its member.
const placesIn = (header, struct) => {
  const [, body] = new RegExp(`struct Fields<${struct}> \\{(.*?)\\n\\};`, 's').exec(header) ?? [];
  return Object.fromEntries(
    [...body.matchAll(/call\.([\w[\]]+)\W.*?from(?:\[| \+ )(\d+)/g)].map(([, m, at]) => [m, +at]),
  );
};

test('a call is written where it is read', async () => {
  const { Box } = await moduleOf(callsJs(table));
  const doubles = new Float64Array(10);
  Box.write(doubles, 2, box);
  assert.equal(Box.doubles, 7);
  assert.deepEqual([...doubles], [0, 0, 64, 1, 1, 3, 4, 5, 6, 0]);
  const header = cpp(table);
  const lines = [
    'call.at = fromDouble<decltype(call.at)>(from[0]);',
    'call.is_open = fromDouble<bool>(from[1]);',
    'call.shape = fromDouble<Shape>(from[2]);',
    'Fields<Size>::read(from + 3, call.inner);',
    'call.edges[1] = fromDouble<float>(from[6]);',
  ];
  for (const line of lines) assert.ok(header.includes(line), line);
});

test('a field that may be left out is written as zeros', async () => {
  const fields = { at: 'pointer?', isOpen: 'bool?', inner: 'Size?', last: 'double' };
  const optional = { ...table, calls: { Size: table.calls.Size, Lid: { fields } } };
  const { Lid } = await moduleOf(callsJs(optional));
  const written = (call) => {
    const doubles = new Float64Array(6).fill(9);
    Lid.write(doubles, 1, call);
    return [...doubles];
  };
  assert.deepEqual(written({ last: 5 }), [9, 0, 0, 0, 0, 5]);
  assert.deepEqual(written({ at: 8, isOpen: true, inner: { width: 3, height: 4 }, last: 5 }), [9, 8, 1, 3, 4, 5]);
  for (const line of ['at?: number | undefined;', 'inner?: Size | undefined;', 'last: number;']) {
    assert.ok(callsTypes(optional).includes(`readonly ${line}`), line);
  }
  const result = { ...table, results: { Area: { fields: { square: 'double?' } } } };
  assert.throws(() => callsJs(result), /square is an array or optional/);
});

test('a result is read where it is written', async () => {
  const { Area } = await moduleOf(callsJs(table));
  assert.deepEqual(Area.read(Float64Array.of(0, 2.5, 1), 1), { square: 2.5, isLarge: true });
  const header = cpp(table);
  for (const line of ['to[0] = toDouble<double>(result.square);', 'to[1] = toDouble<bool>(result.is_large);']) {
    assert.ok(header.includes(line), line);
  }
});

test('fields that change places in the table do so on both sides', async () => {
  const swapped = { ...table, calls: { Size: { fields: { height: 'size_t', width: 'size_t' } } } };
  const { Size } = await moduleOf(callsJs(swapped));
  const doubles = new Float64Array(2);
  Size.write(doubles, 0, { width: 3, height: 4 });
  assert.deepEqual([...doubles], [4, 3]);
  assert.deepEqual(placesIn(cpp(swapped), 'Size'), { height: 0, width: 1 });
});

test('a type that stands nowhere before it is refused', () => {
  const wrong = { ...table, calls: { Box: table.calls.Box, Size: table.calls.Size } };
  for (const make of [cpp, callsJs, callsTypes]) {
    assert.throws(() => make(wrong), { message: 'Box.inner is of type Size, which stands nowhere before it' });
  }
});

test('the number of a name is its place, in both languages', async () => {
  const { Shape, nameOf } = await moduleOf(enumsJs(table));
  assert.deepEqual({ ...Shape }, { round: 0, flat: 1 });
  assert.deepEqual(
    [0, 1, 2].map((number) => nameOf(Shape, number)),
    ['round', 'flat', undefined],
  );
  assert.ok(cpp(table).includes('static_assert(static_cast<int>(Shape::kFlat) == 1);'));
});

test('every call has a place of its own for each of its fields', () => {
  for (const [name, { doubles, write }] of Object.entries(calls)) {
    if (write === undefined) continue; // a result
    const written = new Float64Array(doubles).fill(Number.NaN);
    const anything = new Proxy({}, { get: (_, field) => (typeof field === 'symbol' ? () => 7 : anything) });
    write(written, 0, anything);
    assert.ok(
      written.every((value) => !Number.isNaN(value)),
      name,
    );
  }
});
