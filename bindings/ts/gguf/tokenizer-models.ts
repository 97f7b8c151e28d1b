// Each kind of tokenizer as the parts of a tokenizer.json.
import { flag, type Metadata, numbers, texts } from './metadata.js';
import { preTokenizers } from './pre-tokenizers.js';
import { neededId, type TokenizerKind, type Vocabulary } from './vocabulary.js';

/** A part of a tokenizer.json. @internal */
export type Part = Readonly<Record<string, unknown>>;
type Merges = readonly (readonly [string, string])[];

/** @internal */
export interface TokenizerParts {
  readonly normalizer: Part | null;
  readonly pre_tokenizer: Part | null;
  readonly decoder: Part;
  readonly model: Part;
  /** What a text begins and ends with, where the metadata does not say. */
  readonly addBos?: boolean | undefined;
  readonly addEos?: boolean | undefined;
  /** Whether sep stands between the texts of a pair, where the metadata does not say. */
  readonly addSep?: boolean | undefined;
}

// U+2581. Of an escape or a computation that they know minifiers make the character, and the package is ASCII.
const space = /* @__PURE__ */ JSON.parse('"\\u2581"') as string;
const mergesKey = 'tokenizer.ggml.merges';
const scoresKey = 'tokenizer.ggml.scores';

const split = (behavior: string) => (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior,
  invert: false,
});

function storedMerges(metadata: Metadata): Merges {
  return metadata.need(mergesKey, texts).map((merge) => {
    const end = merge.indexOf(' ', 1);
    if (end > 0) return [merge.slice(0, end), merge.slice(end + 1)];
    throw metadata.error(mergesKey, `holds ${JSON.stringify(merge)}; expected two tokens with a space between`);
  });
}

interface Beginning {
  readonly text: string;
  readonly shorter: Beginning | undefined;
}

// For each text the others that it begins with, longest first. Sorted, they are among those that the text before begins
// with: the time is that of sorting, where trying every length would take the square of a text's length.
function beginnings(texts: readonly string[]): ReadonlyMap<string, Beginning | undefined> {
  const found = new Map<string, Beginning | undefined>();
  let last: Beginning | undefined;
  for (const text of [...texts].sort()) {
    while (last && !text.startsWith(last.text)) last = last.shorter;
    found.set(text, last);
    last = { text, shorter: last };
  }
  return found;
}

// SentencePiece merges the two neighbors that make the token of the highest score. A tokenizer.json has a list of merges
// instead: every way to make every token, the best token first, and of one token the longest left part first.
function scoredMerges({ metadata, tokens }: Vocabulary): Merges {
  const scores = metadata.perToken(scoresKey, tokens.length);
  const merges: [left: string, right: string][] = [];
  const byScore = tokens.map((_, id) => id).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const reversed = tokens.map((token) => [...token].reverse().join(''));
  const [lefts, rights] = [beginnings(tokens), beginnings(reversed)];
  for (const id of byScore) {
    const token = tokens[id] ?? '';
    const ends = new Set<number>();
    for (let right = rights.get(reversed[id] ?? ''); right; right = right.shorter) {
      ends.add(token.length - right.text.length);
    }
    for (let left = lefts.get(token); left; left = left.shorter) {
      const end = left.text.length;
      if (ends.has(end) && end > 0 && end < token.length) merges.push([left.text, token.slice(end)]);
    }
  }
  return merges;
}

const vocabOf = ({ tokens }: Vocabulary) => Object.fromEntries(tokens.map((token, id) => [token, id]));

// BPE over bytes, each of which is written as a character.
function byteLevel(vocabulary: Vocabulary): TokenizerParts {
  const { metadata } = vocabulary;
  const known = preTokenizers();
  const pre = known.get(metadata.oneOf('tokenizer.ggml.pre', [...known.keys()]));
  const splits = pre?.patterns.map(split('Isolated')) ?? [];
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  return {
    normalizer: pre?.nfc === true ? { type: 'NFC' } : null,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [...splits, bytes] },
    decoder: bytes,
    model: {
      type: 'BPE',
      ignore_merges: pre?.ignoreMerges === true,
      vocab: vocabOf(vocabulary),
      merges: storedMerges(metadata),
    },
    addBos: pre?.addBos,
    addSep: pre?.addSep,
  };
}

const replace = (from: string, content: string): Part => ({ type: 'Replace', pattern: { String: from }, content });

// A space is a character of the token behind it; a text begins with one more if `prefix`.
function escapeSpaces(prefix: boolean, before: readonly Part[] = []): Part {
  const prepend = prefix ? [{ type: 'Prepend', prepend: space }] : [];
  return { type: 'Sequence', normalizers: [...before, ...prepend, replace(' ', space)] };
}

// BPE over characters; what is no token is written as the bytes of its UTF-8.
function characters(vocabulary: Vocabulary, merges: Merges, prefix: boolean): TokenizerParts {
  const { tokens, ids } = vocabulary;
  const strip = prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : [];
  return {
    normalizer: escapeSpaces(prefix),
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [replace(space, ' '), { type: 'ByteFallback' }, { type: 'Fuse' }, ...strip],
    },
    model: {
      type: 'BPE',
      unk_token: ids.unk === undefined ? null : tokens[ids.unk],
      fuse_unk: true,
      byte_fallback: true,
      vocab: vocabOf(vocabulary),
      merges,
    },
    addBos: true,
  };
}

function sentencePiece(vocabulary: Vocabulary): TokenizerParts {
  const { metadata } = vocabulary;
  const isListed = (metadata.read(mergesKey, texts) ?? []).length > 0;
  const prefix = metadata.read('tokenizer.ggml.add_space_prefix', flag) ?? true;
  return characters(vocabulary, isListed ? storedMerges(metadata) : scoredMerges(vocabulary), prefix);
}

function unigram(vocabulary: Vocabulary): TokenizerParts {
  const { metadata, tokens, is } = vocabulary;
  const scores = metadata.perToken(scoresKey, tokens.length);
  const charsmap = metadata.read('tokenizer.ggml.precompiled_charsmap', numbers);
  const binary = charsmap && Array.from(charsmap, (byte) => String.fromCharCode(byte & 255)).join('');
  const mapped = binary === undefined ? [] : [{ type: 'Precompiled', precompiled_charsmap: btoa(binary) }];
  // Where spaces in a row count as one, every word begins with one, and else the text does.
  const ofWords = metadata.read('tokenizer.ggml.remove_extra_whitespaces', flag) === true;
  const prefix = metadata.read('tokenizer.ggml.add_space_prefix', flag) ?? false;
  const metaspace = { type: 'Metaspace', replacement: space, prepend_scheme: 'always', split: true };
  return {
    normalizer: ofWords ? { type: 'Sequence', normalizers: mapped } : escapeSpaces(prefix, mapped),
    pre_tokenizer: ofWords ? { type: 'Sequence', pretokenizers: [split('Removed')(' '), metaspace] } : null,
    // Metaspace removes a space at the beginning, also where none was put there.
    decoder: ofWords || prefix ? metaspace : replace(space, ' '),
    model: {
      type: 'Unigram',
      unk_id: neededId(vocabulary, 'unk'),
      byte_fallback: false,
      // A row without a token scores -10000, and what is no token would score less still: 10 below the lowest.
      vocab: tokens.map((token, id) => [token, (is(id, 'normal') && scores[id]) || 0]),
    },
    addEos: true,
  };
}

function wordPiece(vocabulary: Vocabulary): TokenizerParts {
  const { metadata, tokens, is } = vocabulary;
  // Converters note that a model knows small letters only, but not that it knows capitals.
  const capitals = tokens.some((token, id) => is(id, 'normal') && /^[^[]*[A-Z]/.test(token));
  return {
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: metadata.read('tokenizer.ggml.normalizer.strip_accents', flag) ?? null,
      lowercase: metadata.read('tokenizer.ggml.normalizer.lowercase', flag) ?? !capitals,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: tokens[neededId(vocabulary, 'unk')],
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: vocabOf(vocabulary),
    },
    addBos: true,
    addEos: true,
  };
}

const parts: Readonly<Record<TokenizerKind, (vocabulary: Vocabulary) => TokenizerParts>> = {
  gpt2: byteLevel,
  gemma4: (vocabulary) => characters(vocabulary, storedMerges(vocabulary.metadata), false),
  llama: sentencePiece,
  t5: unigram,
  bert: wordPiece,
};

/** @internal */
export const tokenizerParts = (vocabulary: Vocabulary): TokenizerParts => parts[vocabulary.kind](vocabulary);
