// Small faults of C++ text, one each: operators and constants that are others, and statements that are not there. It tells
// binary operators from pointers, signs and templates by the spaces that clang-format puts around them.

const operators = [
  [' + ', ' - '],
  [' - ', ' + '],
  [' * ', ' / '],
  [' / ', ' * '],
  [' % ', ' / '],
  [' < ', ' <= '],
  [' <= ', ' < '],
  [' > ', ' >= '],
  [' >= ', ' > '],
  [' == ', ' != '],
  [' != ', ' == '],
  [' && ', ' || '],
  [' || ', ' && '],
  [' += ', ' -= '],
  [' -= ', ' += '],
  [' *= ', ' /= '],
  [' /= ', ' *= '],
  ['L::add(', 'L::sub('],
  ['L::sub(', 'L::add('],
  ['L::mul(', 'L::add('],
  ['std::max', 'std::min'],
  ['std::min', 'std::max'],
  ['true', 'false'],
  ['false', 'true'],
];

// What only declares, or is there for the compiler.
const idle = /^\s*(?:#|\/\/|template (?:void|double|class)|static_assert|assert\(|using |namespace |case |default:)/;
// An assignment or a call, alone or after a condition on the same line.
const statement =
  /^(\s*)((?:if|for|while) \(.*\) )?((?:[\w:.>[\]*-]+(?: [-+*/]?= .*|(?:<\w+>)?\(.*\)|\+\+)|return|continue|break));$/;
const isBalanced = (text) => text.split('(').length === text.split(')').length;

/** The line without its comment, and with texts blanked out. */
const codeOf = (line) =>
  line.replaceAll(/"(?:\\.|[^"\\])*"/g, (text) => '"'.repeat(text.length)).replace(/\s*\/\/.*$/, '');

function* mutantsOfLine(code) {
  for (const [from, to] of operators) {
    for (let at = code.indexOf(from); at >= 0; at = code.indexOf(from, at + 1)) {
      if (/\w/.test(from[0]) && /[\w:]/.test(code[at - 1] ?? ' ')) continue; // the end of another name
      yield { at, from, to };
    }
  }
  for (const { 0: from, index: at } of code.matchAll(/(?<![\w.'])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.'])/g)) {
    const to = /[.e]/.test(from) ? `(1 + ${from})` : String(Number(from) + 1);
    yield { at, from, to };
  }
  for (const { 0: from, index: at } of code.matchAll(/(?<=(?:[=(,{?:]|return) ?)-(?=[\w(])/g))
    yield { at, from, to: '' };
  const dropped = statement.exec(code);
  if (dropped === null) return;
  const [, indent, before = '', from] = dropped;
  if (isBalanced(before) && isBalanced(from)) yield { at: indent.length + before.length, from, to: '' };
}

/**
 * All of a text: { line, from 1 on, at, the column, from, to }. A line with the comment "speed alone" has none: it chooses
 * between ways that give the same bits, which no test of results tells apart.
 */
export function mutantsOf(text) {
  return text.split('\n').flatMap((line, i) => {
    const code = codeOf(line);
    return idle.test(code) || line.endsWith('speed alone')
      ? []
      : [...mutantsOfLine(code)].map((mutant) => ({ line: i + 1, ...mutant }));
  });
}

/** The text with one of them. */
export function withMutant(text, { line, at, from, to }) {
  const lines = text.split('\n');
  const given = lines[line - 1];
  lines[line - 1] = given.slice(0, at) + to + given.slice(at + from.length);
  return lines.join('\n');
}
