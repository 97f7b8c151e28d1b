// Finds a JSON value in a text that is still being written.
import { ArgumentTypeError } from '../runtime/errors.js';

// A bracket that JSON may follow, or the end of what is written.
const opener = /\{(?=\s*(?:["}]|$))|\[(?=\s*(?:["[{\]\d-]|true|false|null|$))/g;

// The end of the object or array that begins here: where its brackets are balanced outside strings.
function endOf(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; ++i) {
    const c = text[i] as string;
    if (inString) {
      if (c === '\\') i += 1;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === '{' || c === '[') depth += 1;
    else if ((c === '}' || c === ']') && --depth === 0) return i + 1;
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
  for (const { index } of text.matchAll(opener)) {
    const end = endOf(text, index);
    if (end === undefined) return undefined;
    const json = text.slice(index, end);
    try {
      JSON.parse(json);
      return json;
    } catch {
      // No JSON, but something inside or behind it may be.
    }
  }
  return undefined;
}
