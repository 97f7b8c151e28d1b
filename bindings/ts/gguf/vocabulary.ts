// The tokens of a GGUF file, and which of them have a part to play.
import { type Metadata, text, texts, whole } from './metadata.js';

// What a token is for, and the stem of its key. eot and eom end a turn and a message; one stem is misspelt in the format.
const roleKeys = {
  bos: 'bos',
  eos: 'eos',
  eot: 'eot',
  eom: 'eom',
  unk: 'unknown',
  sep: 'seperator',
  pad: 'padding',
  mask: 'mask',
  cls: 'cls',
};

/** @internal */
export type Role = keyof typeof roleKeys;

// What ends a text, a turn or a message.
const ends: readonly Role[] = ['eos', 'eot', 'eom'];

const tokenKey = (role: Role) => `tokenizer.ggml.${roleKeys[role]}_token_id`;

type Ids = Readonly<Partial<Record<Role, number>>>;

// Of each kind of tokenizer the ids of files that do not say.
const kinds = {
  gpt2: {},
  gemma4: {},
  llama: { bos: 1, eos: 2, unk: 0 },
  t5: { eos: 1, unk: 2, pad: 0 },
  bert: { cls: 101, unk: 100, sep: 102, pad: 0, mask: 103 },
} satisfies Readonly<Record<string, Ids>>;

/** What tokenizer.ggml.model says. @internal */
export type TokenizerKind = keyof typeof kinds;

// Numbers of the format; 5 is a row of the model without a token, 6 a byte.
const tokenTypes = { normal: 1, unknown: 2, control: 3, userDefined: 4 };

/** @internal */
export interface Vocabulary {
  readonly metadata: Metadata;
  readonly kind: TokenizerKind;
  /** By id, as tokenizer.json writes them. */
  readonly tokens: readonly string[];
  readonly ids: Ids;
  is(id: number, type: keyof typeof tokenTypes): boolean;
}

// GGUF marks the beginnings of words where BERT marks what goes on. Names in brackets have no mark in old files.
function wordPiece(token: string): string {
  if (/^\[.+\]$/.test(token)) return token;
  return /^\u2581./su.test(token) ? token.slice(1) : `##${token}`;
}

// Some converters write 2^32 - 1 for none.
const none = 2 ** 32 - 1;

function idsOf(metadata: Metadata, kind: TokenizerKind, count: number): Ids {
  const defaults: Ids = kinds[kind];
  const ids: Partial<Record<Role, number>> = {};
  for (const role of Object.keys(roleKeys) as Role[]) {
    const stated = metadata.read(tokenKey(role), whole);
    const id = stated ?? defaults[role];
    if (id !== undefined && id >= 0 && id < count) ids[role] = Number(id);
    // Files have padding of no token; generation without an end would go on and on.
    else if (ends.includes(role) && stated !== undefined && stated >= 0 && Number(stated) !== none) {
      throw metadata.error(tokenKey(role), `is ${stated}, the id of no token; expected less than ${count}`);
    }
  }
  if (kind !== 'bert') return ids;
  // Its texts end with sep, and begin with what old files call cls.
  const { bos = ids.cls, sep } = ids;
  return { ...ids, ...(bos !== undefined && { bos }), ...(sep !== undefined && { eos: sep }) };
}

/** @internal */
export function readVocabulary(metadata: Metadata): Vocabulary {
  const kind = metadata.oneOf('tokenizer.ggml.model', Object.keys(kinds) as TokenizerKind[]);
  const key = 'tokenizer.ggml.tokens';
  const stored = metadata.need(key, texts);
  const types = metadata.perToken('tokenizer.ggml.token_type', stored.length);
  const is: Vocabulary['is'] = (id, type) => (types[id] ?? tokenTypes.normal) === tokenTypes[type];
  const known = new Map<string, number>();
  const tokens = stored.map((text, id) => {
    const token = text === '' ? `[EMPTY_${id}]` : kind === 'bert' && !is(id, 'control') ? wordPiece(text) : text;
    const before = known.get(token);
    if (before !== undefined) {
      throw metadata.error(key, `holds ${JSON.stringify(token)} twice, as tokens ${before} and ${id}`);
    }
    known.set(token, id);
    return token;
  });
  return { metadata, kind, tokens, ids: idsOf(metadata, kind, stored.length), is };
}

/** The id of a token without which a tokenizer does not work. @internal */
export function neededId({ metadata, kind, ids }: Vocabulary, role: Role): number {
  const id = ids[role];
  if (id !== undefined) return id;
  const key = tokenKey(kind === 'bert' && role === 'eos' ? 'sep' : role);
  throw metadata.error(key, 'is missing, or the id of no token; the tokenizer needs it');
}

// Names by which llama.cpp knows the end of a text or a turn where no key has it, as in files of Gemma and Phi-3.
const endNames =
  /^(<\|(endoftext|end_of_text|im_end|end|eot_id|eom_id|return|calls?|flush)\|>|<end_of_(turn|utterance)>|_?<EOT>|\[EO[ST]\]|<eos>|<\/s>|<turn\|>|<\|tool_response>)$/;

/** The tokens after which nothing more is to be generated. @internal */
export function endIds({ tokens, ids }: Vocabulary): readonly number[] {
  const named = new Set(tokens.filter((token) => endNames.test(token)));
  const has = (...names: readonly string[]) => names.some((name) => named.has(name));
  // In Harmony (gpt-oss) and Solar this ends a channel, not the turn; Gemma 4 has </s> as a word.
  if (has('<|call|>', '<|calls|>') && has('<|return|>', '<|flush|>')) named.delete('<|end|>');
  if (has('<|tool_response>')) named.delete('</s>');
  const stated = ends.map((role) => ids[role]);
  return [...tokens.keys()].filter((id) => stated.includes(id) || named.has(tokens[id] ?? ''));
}

/**
 * The tokens that are cut out of a text before all else. GGUF does not say where spaces beside them belong to them: those
 * of Phi-3 take the spaces behind them, and a mask, but for that of BERT, those before it.
 * @internal
 */
export function addedTokens(vocabulary: Vocabulary): readonly object[] {
  const { metadata, kind, tokens, ids, is } = vocabulary;
  const isPhi3 = kind === 'llama' && metadata.read('general.architecture', text) === 'phi3';
  const ends = [ids.bos, ...endIds(vocabulary)];
  return tokens.flatMap((content, id) => {
    const special = is(id, 'control') || is(id, 'unknown') || ends.includes(id);
    // Gemma takes line feeds in a row as one token.
    if (!special && !is(id, 'userDefined') && !(kind === 'gemma4' && /^\n+$/.test(content))) return [];
    const rstrip = isPhi3 && !['<unk>', '<s>', '<|endoftext|>'].includes(content);
    const lstrip = kind !== 'bert' && id === ids.mask;
    return [{ id, content, single_word: false, lstrip, rstrip, normalized: false, special }];
  });
}
