// What the declaration files of the package declare, asked of the compiler: all public functions, the types of their
// parameters, and which values these take.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API, SignatureKind, SymbolFlags, TypeFlags } from 'typescript/unstable/sync';
import { root } from './node.mjs';

const entries = ['index', 'models', 'training', 'worker', 'external'];
const compilerOptions = {
  ...{ strict: true, target: 'es2022', module: 'nodenext', types: [], skipLibCheck: true, noEmit: true },
  lib: ['es2024', 'dom', 'esnext.disposable'],
};

/**
 * Opens the declarations. `values` are types as text, by name, in whose place values of a test stand. Call `close()` in the
 * end.
 */
export function openDeclarations(values) {
  const folder = join(root, 'build', 'declared');
  mkdirSync(folder, { recursive: true });
  const files = entries.map((name) => join(root, 'dist', `${name}.d.ts`));
  const lines = Object.entries(values).map(([name, type]) => `export declare const ${name}: ${type};`);
  const own = join(folder, 'values.ts');
  const types = `import type { RopePlan, Tensor } from '../../dist/index.js';`;
  writeFileSync(own, [types, ...lines].join('\n'));
  const project = join(folder, 'tsconfig.json');
  writeFileSync(project, JSON.stringify({ compilerOptions, files: [...files, own] }));
  const api = new API({ cwd: root });
  const { checker, program } = api.updateSnapshot({ openProjects: [project] }).getProjects()[0];

  const exportsOf = (file) =>
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
      .map((symbol) => (symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol));
  const valueTypes = Object.fromEntries(exportsOf(own).map((symbol) => [symbol.name, checker.getTypeOfSymbol(symbol)]));

  /** Functions, and methods of classes and interfaces with state, by name. */
  function functions() {
    const found = new Map();
    for (const symbol of files.flatMap(exportsOf)) {
      if (symbol.flags & SymbolFlags.Function) found.set(symbol.name, checker.getTypeOfSymbol(symbol));
      if (!(symbol.flags & (SymbolFlags.Class | SymbolFlags.Interface))) continue;
      for (const member of checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))) {
        const isMethod = member.flags & SymbolFlags.Method && !member.name.startsWith('__@');
        if (isMethod) found.set(`${symbol.name}.${member.name}`, checker.getTypeOfSymbol(member));
      }
    }
    return found;
  }

  const constraintOf = (type) =>
    type.flags & TypeFlags.TypeParameter ? (checker.getBaseConstraintOfType(type) ?? type) : type;

  /** The types that parameter `i` has in the overloads of a function. */
  function parameterTypes(type, i) {
    return checker.getSignaturesOfType(type, SignatureKind.Call).flatMap((signature) => {
      const parameter = checker.getParameterType(signature, i);
      return parameter === undefined ? [] : [constraintOf(parameter)];
    });
  }

  /** How many parameters the longest overload has. */
  const parameterCount = (type) =>
    Math.max(...checker.getSignaturesOfType(type, SignatureKind.Call).map(({ parameters }) => parameters.length));

  const takesAnything = (types) => types.some((type) => type.flags & (TypeFlags.Unknown | TypeFlags.Any));

  /** The types of the property `name` in the members of a type. */
  function propertyTypes(types, name) {
    if (takesAnything(types)) return [];
    return members(types).flatMap((type) => {
      const property = checker.getPropertyOfType(type, name);
      if (property !== undefined) return [checker.getTypeOfSymbol(property)];
      const infos = checker.getIndexInfosOfType(type).map((info) => info.valueType ?? info.type);
      return infos.length > 0 ? infos : [checker.getUndefinedType()]; // another member of a union has it
    });
  }

  function members(types) {
    return types
      .map(constraintOf)
      .flatMap((type) => (type.flags & TypeFlags.Union ? members(type.getTypes()) : [type]));
  }

  /** The names of the properties of those members that are plain objects. */
  function propertyNames(types) {
    const objects = members(types).filter((type) => type.flags & (TypeFlags.Object | TypeFlags.Intersection));
    const plain = objects.filter((type) => {
      const own = checker.getPropertiesOfType(type);
      return !own.some(({ flags, name }) => flags & SymbolFlags.Method || name === 'length');
    });
    return [...new Set(plain.flatMap((type) => checker.getPropertiesOfType(type).map(({ name }) => name)))];
  }

  /** Whether one of the types takes the value. No types at all take anything. */
  const known = new Map();
  const takes = (types, name) =>
    types.length === 0 ||
    [...types, ...members(types)].some((type) => {
      const question = `${type.id} ${name}`;
      if (!known.has(question)) known.set(question, checker.isTypeAssignableTo(valueTypes[name], type));
      return known.get(question);
    });
  const has = (types, flags) => members(types).some((type) => type.flags & flags);
  const isCalled = (types) =>
    members(types).some((type) => checker.getSignaturesOfType(type, SignatureKind.Call).length > 0);
  const isNumber = (types) => has(types, TypeFlags.Number);
  const isLiteral = (types) => has(types, TypeFlags.NumberLiteral);

  const close = () => api.close();
  const asked = { functions, parameterCount, parameterTypes, propertyTypes, propertyNames };
  return { ...asked, takes, takesAnything, isNumber, isLiteral, isCalled, close };
}
