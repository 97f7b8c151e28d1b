// Makes both sides of the contract from table.mjs: `node generate.mjs <folder>` writes calls/table.h for C++, and for
// TypeScript enums.js with its types. The build of the core runs it, so that a core and the TypeScript that calls it
// come from the same table.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const made = '// Made by bindings/calls/generate.mjs from table.mjs.';

const byLine = (list, line) => list.map((each) => `${line(each)}\n`).join('');

// --- C++

function enumInCpp([name, { header, values }]) {
  const enumerators = Object.values(values);
  if (header === undefined) return `enum class ${name} : int { ${enumerators.join(', ')} };\n\n`;
  // A switch over all: -Wswitch finds an enumerator that the table lacks.
  return `constexpr bool isInTable(${name} e) {
  switch (e) {
${byLine(enumerators, (each) => `    case ${name}::${each}:`)}      return true;
  }
  return false;
}
${byLine([...enumerators.entries()], ([i, each]) => `static_assert(static_cast<int>(${name}::${each}) == ${i});`)}
`;
}

/** The header for C++. */
export function cpp({ enums }) {
  const headers = Object.values(enums).map(({ header }) => header);
  return `${made}
#pragma once

${byLine([...new Set(headers)].filter(Boolean).sort(), (header) => `#include "${header}"`)}
namespace ropewalk::binding {

${Object.entries(enums).map(enumInCpp).join('')}}  // namespace ropewalk::binding
`;
}

// --- TypeScript

/** The enums as a module of JavaScript. */
export function enumsJs({ enums }) {
  const nameOf = 'export const nameOf = (numbers, number) => Object.keys(numbers)[number];\n';
  const text = ([name, { values }]) => `export const ${name} = {
${byLine([...Object.keys(values).entries()], ([i, key]) => `  ${key}: ${i},`)}};
`;
  return `${made}\n${Object.entries(enums).map(text).join('')}${nameOf}`;
}

/** Their types. */
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

if (process.argv[1] === import.meta.filename) {
  const table = await import('./table.mjs');
  const [folder] = process.argv.slice(2);
  mkdirSync(join(folder, 'calls'), { recursive: true });
  const write = (name, text) => writeFileSync(join(folder, name), text);
  write('calls/table.h', cpp(table));
  write('enums.js', enumsJs(table));
  write('enums.d.ts', enumsTypes(table));
}
