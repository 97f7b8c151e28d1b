// The tokenizer of a GGUF file as the two objects that @huggingface/tokenizers takes. Where the metadata is silent, the
// defaults are those of llama.cpp's src/llama-vocab.cpp.
import { ArgumentTypeError } from '../runtime/errors.js';
import { isRevoked } from '../runtime/typed-arrays.js';
import { isA } from '../sources/platform.js';
import { flag, type GgufMetadata, Metadata, text } from './metadata.js';
import { type Part, type TokenizerParts, tokenizerParts } from './tokenizer-models.js';
import { addedTokens, endIds, neededId, type Role, readVocabulary, type Vocabulary } from './vocabulary.js';

/** One of several templates of chats. */
export interface GgufChatTemplate {
  /** What it is for, such as `tool_use`; `default` is for all else. */
  readonly name: string;
  /** The template, in Jinja. */
  readonly template: string;
}

/** What `tokenizer_config.json` of the model holds. Tokens are undefined where the file names none. */
export interface GgufTokenizerConfig {
  /** Begins a text. */
  readonly bos_token?: string | undefined;
  /** Ends a text. */
  readonly eos_token?: string | undefined;
  /** Stands for what is no token. */
  readonly unk_token?: string | undefined;
  /** Separates the texts of a pair. */
  readonly sep_token?: string | undefined;
  /** Fills up the rows of a batch. */
  readonly pad_token?: string | undefined;
  /** Stands before a text that is to be classified. */
  readonly cls_token?: string | undefined;
  /** Stands for a token that is to be guessed. */
  readonly mask_token?: string | undefined;
  /** Whether `encode` puts `bos_token` before a text. */
  readonly add_bos_token: boolean;
  /** Whether `encode` puts `eos_token` behind a text. */
  readonly add_eos_token: boolean;
  /** Whether decoding removes spaces before punctuation. True for BERT, whose tokens do not tell where spaces were. */
  readonly clean_up_tokenization_spaces: boolean;
  /** The template of chats, in Jinja, or all of them where the file has several. */
  readonly chat_template?: string | readonly GgufChatTemplate[] | undefined;
}

/** What `new Tokenizer(tokenizerJson, tokenizerConfig)` of `@huggingface/tokenizers` takes, and what ends a text. */
export interface GgufTokenizer {
  /** What `tokenizer.json` of the model holds. */
  readonly tokenizerJson: Readonly<Record<string, unknown>>;
  /** What `tokenizer_config.json` of the model holds. */
  readonly tokenizerConfig: GgufTokenizerConfig;
  /**
   * The ids that end a text, a turn or a message: what `generate` takes as `stop`. Those of `tokenizer.ggml.eos_token_id`,
   * `eot_token_id` and `eom_token_id`, and tokens with a name that llama.cpp takes for an end, such as `<|im_end|>`.
   */
  readonly endIds: readonly number[];
}

type Additions = Readonly<Record<'bos' | 'eos' | 'sep', boolean>>;

// Which tokens `encode` adds; llama.cpp adds those of BERT and Gemma 4 whatever the file says.
function additionsOf({ metadata, kind }: Vocabulary, { addBos, addEos, addSep }: TokenizerParts): Additions {
  const isFixed = kind === 'bert' || kind === 'gemma4';
  const adds = (role: keyof Additions, otherwise = false) =>
    (isFixed ? undefined : metadata.read(`tokenizer.ggml.add_${role}_token`, flag)) ?? otherwise;
  return { bos: adds('bos', addBos), eos: adds('eos', addEos), sep: adds('sep', addSep) };
}

// [bos] A [eos], and [bos] A [eos] [sep] B [eos], which is what llama.cpp makes of a pair.
function postProcessor(vocabulary: Vocabulary, additions: Additions): Part {
  const used: Record<string, Part> = {};
  const special = (role: keyof Additions, type_id: number) => {
    if (!additions[role]) return [];
    const id = neededId(vocabulary, role);
    const token = vocabulary.tokens[id] ?? '';
    used[token] = { id: token, ids: [id], tokens: [token] };
    return [{ SpecialToken: { id: token, type_id } }];
  };
  const sequence = (id: string, type_id: number) => ({ Sequence: { id, type_id } });
  const second = vocabulary.kind === 'bert' ? 1 : 0;
  const single = [...special('bos', 0), sequence('A', 0), ...special('eos', 0)];
  const pair = [...single, ...special('sep', 0), sequence('B', second), ...special('eos', second)];
  return { type: 'TemplateProcessing', single, pair, special_tokens: used };
}

function chatTemplate(metadata: Metadata): GgufTokenizerConfig['chat_template'] {
  const key = 'tokenizer.chat_template';
  const plain = metadata.read(key, text);
  const keys = metadata.keys().filter((each) => each.startsWith(`${key}.`));
  const named = keys.map((each) => ({ name: each.slice(key.length + 1), template: metadata.need(each, text) }));
  if (named.length === 0) return plain;
  return plain === undefined ? named : [{ name: 'default', template: plain }, ...named];
}

/**
 * Gives the tokenizer that the header of a GGUF file holds, as `tokenizer.json` and `tokenizer_config.json` would: BPE
 * over bytes (`gpt2`, whose way to split texts `tokenizer.ggml.pre` names), SentencePiece's BPE (`llama`, `gemma4`), Unigram
 * (`t5`) and WordPiece (`bert`). Decoding keeps spaces as they are, but for BERT. Texts of a pair are put together as
 * llama.cpp does, with one bos. A table that normalizes the characters of Unigram is passed on; version 0.2 of
 * `@huggingface/tokenizers` uses NFKC in its place.
 *
 * @param file what `openGguf` gives; only its metadata is read.
 * @throws GgufError where an entry is missing or of another type, or names a kind of tokenizer or a way to split texts
 * that is not supported, or where an end is the id of no token; it names the key. Where `tokenizer.ggml.pre` is missing
 * llama.cpp takes `default` and warns: here give `{ metadata }` that has it.
 *
 * @example
 * import { tokenizerFromGguf } from 'ropewalk/models';
 * const { tokenizerJson, tokenizerConfig } = tokenizerFromGguf(file);
 * const tokenizer = new Tokenizer(tokenizerJson, tokenizerConfig); // of @huggingface/tokenizers
 * console.log(tokenizer.encode('the sun rises').ids);
 */
export function tokenizerFromGguf(file: GgufMetadata): GgufTokenizer {
  const given = isRevoked(file) ? undefined : (file as Partial<GgufMetadata> | null | undefined);
  const isNamed = given?.file === undefined || typeof given.file === 'string';
  if (!isA('Map', given?.metadata, 'size') || !isNamed) {
    throw new ArgumentTypeError('tokenizerFromGguf', 'file', file, 'an open GGUF file');
  }
  const metadata = new Metadata(file);
  const vocabulary = readVocabulary(metadata);
  const { kind, tokens, ids } = vocabulary;
  const parts = tokenizerParts(vocabulary);
  const { normalizer, pre_tokenizer, decoder, model } = parts;
  const additions = additionsOf(vocabulary, parts);
  const tokenOf = (role: Role) => (ids[role] === undefined ? undefined : tokens[ids[role]]);
  return {
    tokenizerJson: {
      version: '1.0',
      added_tokens: addedTokens(vocabulary),
      normalizer,
      pre_tokenizer,
      post_processor: postProcessor(vocabulary, additions),
      decoder,
      model,
    },
    tokenizerConfig: {
      bos_token: tokenOf('bos'),
      eos_token: tokenOf('eos'),
      unk_token: tokenOf('unk'),
      sep_token: tokenOf('sep'),
      pad_token: tokenOf('pad'),
      cls_token: tokenOf('cls') ?? (kind === 'bert' ? tokenOf('bos') : undefined),
      mask_token: tokenOf('mask'),
      add_bos_token: additions.bos,
      add_eos_token: additions.eos,
      clean_up_tokenization_spaces: kind === 'bert',
      chat_template: chatTemplate(metadata),
    },
    endIds: endIds(vocabulary),
  };
}
