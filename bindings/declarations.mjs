// Joins the declarations that tsc wrote for each module to one file for each entry and one that they share. It takes
// what the entries export and what that mentions; internal declarations that nothing public mentions are left out.
// It reads declarations as tsc prints them: each starts at the beginning of a line, and what is inside is indented.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const starts = /^(?=(?:\/\*\*|\/\/\/|import|export|declare|type|interface)(?![\w$]))/m;
const declared =
  /^(?:export )?(?:declare )?(?:abstract )?(class|interface|type|const|let|function|enum) ([A-Za-z_$][\w$]*)/;
const listed = /^(import|export) (type )?\{([^}]*)\} from ['"](.+)['"];$/;
const starred = /^(import|export) \*(?: as ([\w$]+))? from ['"](.+)['"];$/;

// The statements of a module, comments apart. A comment with more behind it is within a type.
function statementsOf(text) {
  const statements = [];
  for (const part of text.split(starts)) {
    if (/^\/\*\*[\s\S]*?\*\/\s*\S/.test(part)) statements.push(statements.pop() + part);
    else statements.push(part);
  }
  return statements.map((part) => part.trimEnd()).filter((part) => part !== '');
}

// The names in braces, each with whether it is passed on as a type only.
const namesIn = (list) =>
  [...list.matchAll(/[^\s,][^,]*/g)].map(([part]) => {
    const [, type, name] = /^(type )?([\w$]+)\s*$/.exec(part) ?? [];
    if (name === undefined) throw new Error(`declarations: ${part} has another name in another module`);
    return { name, isType: type !== undefined };
  });

// A module: its first comment, what it declares, imports (name -> module) and exports, as tsc printed it.
function readModule(folder, path) {
  const module = { path, head: '', libs: [], declarations: new Map(), imports: new Map(), spaces: new Map() };
  Object.assign(module, { exports: new Map(), whole: [] });
  const from = (other) => posix.join(posix.dirname(path), other.replace(/\.js$/, '.d.ts'));
  let comment = '';
  for (const printed of statementsOf(readFileSync(join(folder, path), 'utf8'))) {
    if (printed.startsWith('///')) module.libs.push(printed);
    else if (printed.includes('@packageDocumentation')) module.head = `${printed}\n`;
    else if (printed.startsWith('/**')) comment = `${printed}\n`;
    else {
      // Types of another module by its path, as tsc writes inferred ones.
      const statement = printed.replace(/import\("([^"]+)"\)\.([\w$]+)/g, (_, other, name) => {
        module.imports.set(name, from(other));
        return name;
      });
      const [, kind, type, list, other] = listed.exec(statement) ?? [];
      const [, star, space, all] = starred.exec(statement) ?? [];
      const [, keyword, name] = declared.exec(statement) ?? [];
      if (kind === 'import') for (const each of namesIn(list)) module.imports.set(each.name, from(other));
      else if (kind === 'export')
        for (const each of namesIn(list))
          module.exports.set(each.name, { at: from(other), isType: each.isType || type !== undefined });
      else if (space !== undefined) module.spaces.set(space, from(all));
      else if (star === 'export') module.whole.push(from(all));
      else if (name !== undefined) {
        const known = module.declarations.get(name);
        const text = `${known?.text ?? ''}${comment}${statement}\n`;
        module.declarations.set(name, { name, module, text, isType: /^(?:type|interface)$/.test(keyword) });
        if (statement.startsWith('export ')) module.exports.set(name, { at: path, isType: false });
      } else if (statement !== 'export {};') throw new Error(`declarations: ${path} has ${statement}`);
      comment = '';
    }
  }
  return module;
}

// A declaration as a file of the package has it: exported or not, without the names of whole modules.
function textOf({ module, text }, isShown) {
  const bare = [...module.spaces.keys()].reduce(
    (all, space) => all.replace(new RegExp(`\\b${space}\\.(?=[A-Z])`, 'g'), ''),
    text,
  );
  return bare.replace(/^(?:export )?(?=(?:declare|interface|type) )/gm, isShown ? 'export ' : '');
}

/** { file name: text } of the declarations for these entries, from those of all modules in `folder`. */
export function joinDeclarations(folder, entries) {
  const modules = new Map();
  const moduleAt = (path) => {
    if (!modules.has(path)) modules.set(path, readModule(folder, path));
    return modules.get(path);
  };

  // The declaration of a name that a module exports.
  function exported(path, name) {
    const { declarations, exports, whole } = moduleAt(path);
    const { at } = exports.get(name) ?? {};
    if (at === path) return declarations.get(name);
    const places = at === undefined ? whole : [at];
    return places.map((place) => exported(place, name)).find((found) => found !== undefined);
  }
  // All declarations that a module exports, each with whether as a type only.
  function exportsOf(path) {
    const { exports, whole } = moduleAt(path);
    const own = [...exports].map(([name, { isType }]) => {
      const declaration = exported(path, name);
      return [declaration, isType || declaration.isType];
    });
    return new Map([...own, ...whole.flatMap((other) => [...exportsOf(other)])]);
  }
  const ofEntry = new Map(entries.map((entry) => [entry, exportsOf(`${entry}.d.ts`)]));

  // What a declaration mentions, among what its module declares and imports.
  function mentioned({ module, text, name }) {
    const code = text.replace(/\/\*[\s\S]*?\*\/|'[^'\n]*'|"[^"\n]*"/g, '');
    const inSpaces = [...code.matchAll(/\b([\w$]+)\.([\w$]+)/g)].flatMap(([, space, member]) =>
      module.spaces.has(space) ? [exported(module.spaces.get(space), member)] : [],
    );
    const named = [...new Set(code.match(/[A-Za-z_$][\w$]*/g))].flatMap((word) => {
      if (word === name) return [];
      if (module.imports.has(word)) return [exported(module.imports.get(word), word)];
      return module.declarations.has(word) ? [module.declarations.get(word)] : [];
    });
    return [...inSpaces, ...named];
  }

  // The entries that need each declaration, in the order in which they are found.
  const users = new Map();
  function follow(declaration, entry) {
    const known = users.get(declaration) ?? new Set();
    if (known.has(entry)) return;
    users.set(declaration, known.add(entry));
    for (const each of mentioned(declaration)) follow(each, entry);
  }
  for (const [entry, exports] of ofEntry) for (const each of exports.keys()) follow(each, entry);

  const fileOf = (declaration) => {
    const [only, ...others] = users.get(declaration);
    return others.length > 0 || only === undefined ? 'shared' : only;
  };
  const files = new Map([...entries, 'shared'].map((file) => [file, []]));
  for (const declaration of users.keys()) files.get(fileOf(declaration)).push(declaration);

  // What other files take from the shared one, and so what it exports.
  const taken = new Set(
    entries.flatMap((entry) => [...ofEntry.get(entry).keys(), ...files.get(entry).flatMap(mentioned)]),
  );
  const isShared = (declaration) => fileOf(declaration) === 'shared';
  const texts = {};
  for (const [file, declarations] of files) {
    const names = declarations.map(({ name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw new Error(`declarations: two modules of ${file} declare ${twice}`);
    const exports = ofEntry.get(file) ?? new Map([...taken].map((each) => [each, each.isType]));
    const parts = [...new Set(declarations.flatMap(({ module }) => module.libs))];
    const link = (keyword, list) => {
      const sorted = [...new Set(list.map(({ name }) => name))].sort();
      if (sorted.length > 0) parts.push(`${keyword} { ${sorted.join(', ')} } from './shared.js';`);
    };
    if (ofEntry.has(file)) {
      parts.push(moduleAt(`${file}.d.ts`).head);
      link('import type', declarations.flatMap(mentioned).filter(isShared));
      const passed = [...exports].filter(([declaration]) => isShared(declaration));
      link(
        'export type',
        passed.filter(([, isType]) => isType).map(([declaration]) => declaration),
      );
      link(
        'export',
        passed.filter(([, isType]) => !isType).map(([declaration]) => declaration),
      );
    }
    // A class that the entry exports as a type only is exported apart. Without an export of this form, a file exports all
    // that it declares.
    const asType = declarations.filter((each) => exports.has(each) && exports.get(each) !== each.isType);
    const isShown = (each) => exports.has(each) && !asType.includes(each);
    parts.push(...declarations.map((each) => textOf(each, isShown(each))));
    parts.push(`export type { ${asType.map(({ name }) => name).join(', ')} };`.replace('type {  }', '{}'));
    texts[`${file}.d.ts`] = parts.map((part) => `${part.trimEnd()}\n`).join('');
  }
  return texts;
}
