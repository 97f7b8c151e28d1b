// Finds a JSON value in a text that is still being written.
import { ArgumentTypeError } from '../runtime/errors.js';

// A bracket, comma or colon, a string, which may be unfinished at the end of the text, or a word.
const piece = /[ \t\n\r]*([{}[\],:]|"(?:[^"\\]+|\\.?)*"?|[^ \t\n\r{}[\],:"]+)/sy;
const value = '{["w';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// The end of the object or array that begins here: undefined where it may still be written, 0 where no JSON begins so. Then
// none does at the brackets within that are open there either; these are added to `hopeless`.
function endOf(text: string, start: number, hopeless: Set<number>): number | undefined {
  const open: number[] = [];
  const closer = () => (text[open.at(-1) as number] === '{' ? '}' : ']');
  let allowed = '{['; // first characters of what may come next; w stands for a word
  piece.lastIndex = start;
  for (let token = piece.exec(text)?.[1]; token !== undefined; token = piece.exec(text)?.[1]) {
    const end = piece.lastIndex;
    const kind = '{}[],:"'.includes(token.charAt(0)) ? token.charAt(0) : 'w';
    if (!allowed.includes(kind) || ('w"'.includes(kind) && end < text.length && !isJson(token))) {
      for (const at of open) hopeless.add(at);
      return 0;
    }
    if (kind === '{' || kind === '[') {
      open.push(end - 1);
      allowed = kind === '{' ? '"}' : `${value}]`;
    } else if (kind === ',') allowed = closer() === '}' ? '"' : value;
    else if (kind === ':') allowed = value;
    else if (/^"}?$/.test(allowed) && kind === '"') allowed = ':';
    else {
      if (kind === closer()) open.pop();
      if (open.length === 0) return end;
      allowed = `,${closer()}`;
    }
  }
  return undefined;
}

/**
 * Finds the first whole JSON object or array in a text. What is before it is passed over, and so are brackets that
 * no JSON follows. With `stopAfter` of `model.generate` it ends a text as soon as its JSON is whole.
 *
 * @returns the JSON, ready for `JSON.parse`; undefined where none is whole yet.
 * @throws ArgumentTypeError where the text is not a string.
 *
 * @example
 * import { firstJson } from 'ropewalk/models';
 * firstJson('Sure: {"name": "Ada", "born": [1815'); // undefined
 * firstJson('Sure: {"name": "Ada", "born": [1815]} Anything else?'); // '{"name": "Ada", "born": [1815]}'
 * const stopAfter = (tokens: readonly number[]) => firstJson(tokenizer.decode(tokens)) !== undefined;
 */
export function firstJson(text: string): string | undefined {
  if (typeof text !== 'string') throw new ArgumentTypeError('firstJson', 'text', text, 'a string');
  const hopeless = new Set<number>();
  for (const { index } of text.matchAll(/[{[]/g)) {
    if (hopeless.has(index)) continue;
    const end = endOf(text, index, hopeless);
    if (end === undefined) return undefined;
    const json = text.slice(index, end);
    if (isJson(json)) return json; // else something inside or behind it may be
  }
  return undefined;
}
