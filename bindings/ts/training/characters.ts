// The characters of a text as a task.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { OwnIntegers } from '../runtime/typed-arrays.js';
import { aimAtNext, checkTask, type Task, type TaskOptions, taskFields, taskOf } from './task.js';

/** Options of `charactersTask`. */
export interface CharactersOptions extends TaskOptions {
  /** The most frequent characters have ids of their own, all others share the last. Default: as many as there are. */
  vocab?: number;
  /**
   * Start and end of the text that is sampled, as fractions from 0 to 1. The vocabulary comes from the whole text. Default
   * [0, 1].
   */
  part?: readonly [number, number];
}

/** A task with the ids of characters. */
export interface CharactersTask extends Task {
  /** By id; `�` for all that share the last. */
  readonly characters: readonly string[];
  /** The ids of a text. */
  encode(text: string): OwnIntegers;
  /**
   * The text of ids.
   *
   * @throws ArgumentRangeError for an id that no character has.
   */
  decode(ids: ArrayLike<number>): string;
}

const other = /* @__PURE__ */ String.fromCharCode(0xfffd); // the sign of a character that cannot be shown

function charactersOf(where: string, text: string, most: number | undefined): readonly string[] {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const order = (a: string, b: string) => (a < b ? -1 : 1);
  const all = [...counts.keys()].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0) || order(a, b));
  if (most === undefined || all.length <= most) return all.sort(order);
  const kept = all
    .filter((character) => character !== other)
    .slice(0, check.integer(where, 'vocab', most, 2, all.length) - 1)
    .sort(order);
  return [...kept, other];
}

/**
 * Pieces of a text at random places; every character is to be named after those before it. A character is a code point.
 *
 * @throws ArgumentRangeError where the part of the text is not longer than a sequence.
 *
 * @example
 * const task = charactersTask('the cat sat on the mat. '.repeat(9), { tokens: 16 });
 * const text = task.decode(task.batch(1).ids.data);
 */
export function charactersTask(text: string, options: CharactersOptions = {}): CharactersTask {
  const where = 'charactersTask';
  if (typeof text !== 'string') throw new ArgumentTypeError(where, 'text', text, 'a text');
  const given = check.options(where, 'options', options, ['vocab', 'part', ...taskFields]);
  const { tokens, random } = checkTask(where, given, 2);
  const most = given.vocab === undefined ? undefined : check.integer(where, 'vocab', given.vocab, 2, 2 ** 20);
  const characters = charactersOf(where, text, most);
  const idOf = new Map(characters.map((character, id) => [character, id]));
  // Of the rest, where vocab has left some out; a text may have this character as its own.
  const shared = new Set(text).size > characters.length ? idOf.get(other) : undefined;
  const encode = (of: string): OwnIntegers => {
    if (typeof of !== 'string') throw new ArgumentTypeError(`${where}.encode`, 'text', of, 'a text');
    return Int32Array.from([...of], (character, place) => {
      const id = idOf.get(character) ?? shared;
      if (id !== undefined) return id;
      const problem = `has ${JSON.stringify(character)} at place ${place}, which is no character of this task`;
      throw new ArgumentRangeError(`${where}.encode`, 'text', character, problem);
    });
  };
  const all = encode(text);
  const [from, to] = checkPart(where, given.part ?? [0, 1]);
  const part = all.subarray(Math.floor(from * all.length), Math.floor(to * all.length));
  const places = part.length - tokens;
  if (places < 1) {
    const problem = `has ${part.length} characters in this part; expected more than tokens, ${tokens}`;
    throw new ArgumentRangeError(where, 'text', text, problem);
  }
  const task = taskOf(where, characters.length, tokens, undefined, (sequence) => {
    const place = random.below(places + 1);
    sequence.ids.set(part.subarray(place, place + tokens));
    aimAtNext(sequence, 0);
  });
  const decode = (ids: ArrayLike<number>) => {
    const own = `${where}.decode`;
    const most = characters.length - 1;
    const list = check.positions(own, 'ids', check.read(ids));
    return Array.from(list, (id, i) => characters[check.integer(own, `ids[${i}]`, id, 0, most)]).join('');
  };
  return { ...task, characters, encode, decode };
}

function checkPart(where: string, part: readonly [number, number]): readonly [number, number] {
  if (!Array.isArray(part) || part.length !== 2) throw new ArgumentTypeError(where, 'part', part, 'two shares, [0, 1]');
  const [from, to] = part.map((share, i) => check.finite(where, `part[${i}]`, share));
  if (from !== undefined && to !== undefined && from >= 0 && from < to && to <= 1) return [from, to];
  throw new ArgumentRangeError(where, 'part', part, `is [${part.join(', ')}]; expected a rising pair from 0 to 1`);
}
