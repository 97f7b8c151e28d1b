// Programs beside the pictures. What they compute with is the text of the very functions that the page runs.
import { literal } from './literal';

/** The call of a function of which `rw` is the first argument. */
export function call(name: string, ...values: readonly unknown[]): string {
  return `${name}(${['rw', ...values.map(literal)].join(', ')})`;
}

/** Lines that make `result` of some parts of what a call gives, one after the other. */
export function partsOf(called: string, ...parts: readonly string[]): string {
  return `const { ${parts.join(', ')} } = ${called};
const result = [${parts.map((part) => `...${part}`).join(', ')}];`;
}

/** Lines that make `result` of some columns of what a call gives, row by row. */
export function rowsOf(called: string, ...columns: readonly string[]): string {
  return `const { ${columns.join(', ')} } = ${called};
const result = Array.from(${columns[0]}, (_, i) => [${columns.map((column) => `${column}[i]`).join(', ')}]).flat();`;
}

// The declarations that some lines use, and those that these use in turn, in the order of the file.
function used(shown: Readonly<Record<string, string>>, lines: string): string[] {
  const names = new Set<string>();
  const visit = (text: string): void => {
    const code = text.replaceAll(/\/\/.*/g, '');
    for (const [name, each] of Object.entries(shown)) {
      if (names.has(name) || !new RegExp(`(?<!(?<!\\.\\.)\\.|['\\w])${name}\\b(?!:)`).test(code)) continue;
      names.add(name);
      visit(each);
    }
  };
  visit(lines);
  return Object.entries(shown).flatMap(([name, text]) => (names.has(name) ? [text] : []));
}

/**
 * A whole program: the declarations of `shown` that its lines use, then the lines.
 *
 * @param imports what it begins with.
 * @param loads how it gets its core.
 */
export function program(
  shown: Readonly<Record<string, string>>,
  lines: string,
  imports = "import { load } from 'ropewalk';",
  loads = "load({ simd: 'deterministic' })",
): string {
  const functions = used(shown, lines).map((text) => `${text}\n\n`);
  return `${imports}

${functions.join('')}const rw = await ${loads};
${lines}
`;
}
