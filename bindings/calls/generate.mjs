// Generates both sides of the contract from table.mjs: `node generate.mjs <folder>` writes calls/table.h for C++, and
// enums.js and calls.js with their types for TypeScript. The build of the core runs it, so that the core and the
// TypeScript that calls it always match.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const plainTypes = ['pointer', 'bool', 'size_t', 'int64_t', 'uint64_t', 'double', 'float'];
const made = '// Made by bindings/calls/generate.mjs from table.mjs.';

const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const byLine = (list, line) => list.map((each) => `${line(each)}\n`).join('');

// Adds to each field its offset in doubles. A struct may contain only structs defined before it.
function laidOut(structs, enums) {
  const known = new Map();
  const fieldOf = (where, [name, type], at) => {
    const [, element, count, optional] = /^(\w+?)(?:\[(\d+)\])?(\?)?$/.exec(type) ?? [];
    const struct = known.get(element);
    if (struct === undefined && !plainTypes.includes(element) && !Object.hasOwn(enums, element)) {
      throw new Error(`${where}.${name} is of type ${type}, which stands nowhere before it`);
    }
    const doubles = struct?.doubles ?? 1;
    const isStruct = struct !== undefined;
    return { name, member: snakeCase(name), element, isStruct, isOptional: optional !== undefined, count, at, doubles };
  };
  for (const [name, { header, struct = name, fields }] of Object.entries(structs)) {
    let doubles = 0;
    const list = Object.entries(fields).map((entry) => {
      const field = fieldOf(name, entry, doubles);
      doubles += field.doubles * Number(field.count ?? 1);
      return field;
    });
    known.set(name, { name, header, struct, fields: list, doubles });
  }
  return [...known.values()];
}

// A field as single values: an array gives one for each element.
const parts = ({ count, ...field }) =>
  Array.from({ length: Number(count ?? 1) }, (_, i) => {
    const index = count === undefined ? '' : `[${i}]`;
    return { ...field, name: field.name + index, member: field.member + index, at: field.at + i * field.doubles };
  });

// --- C++

function enumInCpp([name, { header, type = name, values }]) {
  const enumerators = Object.values(values);
  if (header === undefined) return `enum class ${name} : int { ${enumerators.join(', ')} };\n\n`;
  const alias = type === name ? '' : `using ${name} = ${type};\n`;
  // In a switch without default, -Wswitch reports an enumerator that is missing in the table.
  return `${alias}constexpr bool isInTable(${name} e) {
  switch (e) {
${byLine(enumerators, (each) => `    case ${name}::${each}:`)}      return true;
  }
  return false;
}
${byLine([...enumerators.entries()], ([i, each]) => `static_assert(static_cast<int>(${name}::${each}) == ${i});`)}
`;
}

function memberInCpp({ element, member, count }) {
  return `  ${element === 'pointer' ? 'Pointer' : element} ${member}${count === undefined ? '' : `[${count}]`};`;
}

// A pointer is converted to the member's type; any other type must match it, which -Wconversion checks.
function readInCpp({ element, isStruct, member, at }) {
  if (isStruct) return `    Fields<${element}>::read(from + ${at}, call.${member});`;
  const type = element === 'pointer' ? `decltype(call.${member})` : element;
  return `    call.${member} = fromDouble<${type}>(from[${at}]);`;
}

function writeInCpp({ element, isStruct, member, at }) {
  if (isStruct) return `    Fields<${element}>::write(result.${member}, to + ${at});`;
  return `    to[${at}] = toDouble${element === 'pointer' ? '' : `<${element}>`}(result.${member});`;
}

// The definition of a struct; for one from a header, only an alias if its name differs.
function typeInCpp({ name, header, struct, fields }) {
  if (header === undefined) return `struct ${name} {\n${byLine(fields, memberInCpp)}};\n`;
  return struct === name ? '' : `using ${name} = ${struct};\n`;
}

const structInCpp = (signature, lineOf) => (struct) =>
  `${typeInCpp(struct)}template <>
struct Fields<${struct.name}> {
  static constexpr size_t kDoubles = ${struct.doubles};
  static void ${signature(struct.name)} {
${byLine(struct.fields.flatMap(parts), lineOf)}  }
};

`;
const callInCpp = structInCpp((name) => `read(const double* from, ${name}& call)`, readInCpp);
const resultInCpp = structInCpp((name) => `write(const ${name}& result, double* to)`, writeInCpp);

/** The header for C++. */
export function cpp({ enums, calls, results }) {
  const headers = [enums, calls, results].flatMap((each) => Object.values(each).map(({ header }) => header));
  return `${made}
#pragma once

#include "embind/fields.h"
${byLine([...new Set(headers)].filter(Boolean).sort(), (header) => `#include "${header}"`)}
namespace ropewalk::binding {

${Object.entries(enums).map(enumInCpp).join('')}${laidOut(calls, enums).map(callInCpp).join('')}${laidOut(results, enums).map(resultInCpp).join('')}}  // namespace ropewalk::binding
`;
}

// --- TypeScript

/** The enums as a JavaScript module. */
export function enumsJs({ enums }) {
  const nameOf = 'export const nameOf = (numbers, number) => Object.keys(numbers)[number];\n';
  const text = ([name, { values }]) => `export const ${name} = {
${byLine([...Object.keys(values).entries()], ([i, key]) => `  ${key}: ${i},`)}};
`;
  return `${made}\n${Object.entries(enums).map(text).join('')}${nameOf}`;
}

/** The types of enumsJs(). */
export function enumsTypes({ enums }) {
  const text = ([name, { values }]) => `export declare const ${name}: {
${byLine([...Object.keys(values).entries()], ([i, key]) => `  readonly ${key}: ${i};`)}};
`;
  return `${made}
${Object.entries(enums).map(text).join('')}
/** The name that has this number. */
export declare function nameOf<N extends string>(numbers: Readonly<Record<N, number>>, number: number): N | undefined;
`;
}

function writeInJs({ name, element, isStruct, isOptional, at, doubles }) {
  if (isStruct) {
    const zeros = `else for (let i = ${at}; i < ${at + doubles}; ++i) to[at + i] = 0;`;
    const write = `${element}.write(to, at + ${at}, call.${name});`;
    return isOptional ? `    if (call.${name}) ${write}\n    ${zeros}` : `    ${write}`;
  }
  const value = element === 'bool' ? `call.${name} ? 1 : 0` : `call.${name}${isOptional ? ' ?? 0' : ''}`;
  return `    to[at + ${at}] = ${value};`;
}

function readInJs({ name, element, isStruct, isOptional, count, at }) {
  if (count !== undefined || isOptional) throw new Error(`${name} is an array or optional, as no field of a result is`);
  if (isStruct) return `      ${name}: ${element}.read(from, at + ${at}),`;
  return `      ${name}: from[at + ${at}]${element === 'bool' ? ' !== 0' : ''},`;
}

/** The calls and results as a JavaScript module. */
export function callsJs({ enums, calls, results }) {
  const call = ({ name, fields, doubles }) => `export const ${name} = {
  doubles: ${doubles},
  write(to, at, call) {
${byLine(fields.flatMap(parts), writeInJs)}  },
};
`;
  const result = ({ name, fields, doubles }) => `export const ${name} = {
  doubles: ${doubles},
  read(from, at) {
    return {
${byLine(fields, readInJs)}    };
  },
};
`;
  return `${made}
${laidOut(calls, enums).map(call).join('')}${laidOut(results, enums).map(result).join('')}`;
}

function typeInTs({ element, isStruct, count }) {
  const type = isStruct ? element : element === 'bool' ? 'boolean' : 'number';
  return count === undefined ? type : `readonly [${Array(Number(count)).fill(type).join(', ')}]`;
}

const fieldInTs = (field) =>
  `  readonly ${field.name}${field.isOptional ? `?: ${typeInTs(field)} | undefined` : `: ${typeInTs(field)}`};`;

/** The types of callsJs(): an interface for each struct, and how it is written or read. */
export function callsTypes({ enums, calls, results }) {
  const text = (kind) => (struct) =>
    `export interface ${struct.name} {
${byLine(struct.fields, fieldInTs)}}
export declare const ${struct.name}: ${kind}<${struct.name}>;
`;
  return `${made}

/** Writes a call: its fields go to the doubles from \`at\` on. */
export interface CallFields<C> {
  readonly doubles: number;
  readonly write: (to: Float64Array, at: number, call: C) => void;
}

/** Reads a result from the heap. */
export interface ResultFields<R> {
  readonly doubles: number;
  readonly read: (from: Float64Array, at: number) => R;
}

${laidOut(calls, enums).map(text('CallFields')).join('')}${laidOut(results, enums).map(text('ResultFields')).join('')}`;
}

if (process.argv[1] === import.meta.filename) {
  const table = await import('./table.mjs');
  const [folder] = process.argv.slice(2);
  mkdirSync(join(folder, 'calls'), { recursive: true });
  const write = (name, text) => writeFileSync(join(folder, name), text);
  write('calls/table.h', cpp(table));
  write('enums.js', enumsJs(table));
  write('enums.d.ts', enumsTypes(table));
  write('calls.js', callsJs(table));
  write('calls.d.ts', callsTypes(table));
}
