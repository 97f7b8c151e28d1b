// Small tokenizers as their tokenizer.json would be, what llama.cpp's converter makes of a tokenizer.json, and texts to try
// both with.
import assert from 'node:assert/strict';
import { Tokenizer } from '@huggingface/tokenizers';
import { tokenizerFromGguf } from 'ropewalk/models';

// What llama.cpp's own tests of its vocabularies encode (models/ggml-vocab-*.gguf.inp).
export const publishedTexts = [
  ...['ied 4 ½ months', 'Führer', '', ' ', '  ', '   ', '\t', '\n', '\n\n', '\n\n\n', '\t\n'],
  ...['Hello world', ' Hello world', 'Hello World', ' Hello World', ' Hello World!', 'Hello, world!', ' Hello, world!'],
  ...[' this is 🦙.cpp', 'w048 7tuijk dsdfhu', 'нещо на Български', 'កាន់តែពិសេសអាចខលចេញ'],
  '🚀 (normal) 😶\u200d🌫\ufe0f (multiple emojis concatenated) ✅ (only emoji that has its own token)',
  ...['Hello', ' Hello', '  Hello', '   Hello', '    Hello', '    Hello\n    Hello', ' (', '\n =', "' era"],
  "Hello, y'all! How are you 😁 ?我想在apple工作1314151天～",
  ...Array.from({ length: 9 }, (_, i) => '3'.repeat(i + 1)),
  `${'\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n     \n'}🚀 (normal) 😶\u200d🌫\ufe0f (multiple emojis concatenated) ✅ 🦙🦙 3 33 333 3333 33333 333333 3333333 33333333 3.3 3..3 3...3 កាន់តែពិសេសអាច😁 ?我想在apple工作1314151天～ ------======= нещо на Български ''''''\`\`\`\`\`\`\`""""......!!!!!!?????? I've been 'told he's there, 'RE you sure? 'M not sure I'll make it, 'D you like some tea? We'Ve a'lL`,
];

const parts = [
  ...['a', 'the ', 'HTML', 'camelCase', "I'm", "'LL", 'x', '1', '23', '4567', '0x1F', '3.14', 'Ⅷ', '²', '٣'],
  ...[
    ' ',
    '  ',
    '\n',
    '\n\n',
    '\t',
    '\r\n',
    '\r',
    '\u00a0',
    '\u3000',
    '!',
    '?',
    '...',
    '$',
    '`',
    '/',
    '\\',
    '<',
    '|>',
    '_',
  ],
  ...[
    'é',
    'e\u0301',
    'ü',
    'ß',
    'Ω',
    'Привет',
    '你好',
    '日本語',
    'カタカナ',
    '한국어',
    'नमस्ते',
    'ไทย',
    'עברית',
    'العربية',
  ],
  ...['👋', '👨\u200d👩\u200d👧', '🇩🇪', '<s>', '</s>', '<unk>', '<0x41>', '[MASK]', '<|im_end|>', '<b>', '[PAD9]'],
];

/** Every published text, and texts put together at random. */
export const texts = [...publishedTexts];
for (let seed = 1; texts.length < 400; ) {
  const pieces = [];
  do {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    pieces.push(parts[(seed >>> 8) % parts.length]);
  } while (seed >>> 28 > 1);
  texts.push(pieces.join(''));
}

/** Characters that GPT-2 writes bytes as. */
export const byteCharacters = (() => {
  const printed = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printed(byte) ? byte : next++));
})();

/** Merges of the pairs that come most often in words, which are arrays of symbols. */
export function trainBpe(words, count) {
  let split = words.map((word) => [...word]);
  const merges = [];
  while (merges.length < count) {
    const counts = new Map();
    for (const word of split) {
      for (let i = 1; i < word.length; ++i) {
        const pair = `${word[i - 1]} ${word[i]}`;
        counts.set(pair, (counts.get(pair) ?? 0) + 1);
      }
    }
    const [best] = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))[0] ?? [];
    if (best === undefined) break;
    const [left, right] = best.split(' ');
    merges.push([left, right]);
    split = split.map((word) =>
      word.reduce((out, symbol) => {
        if (symbol === right && out.at(-1) === left) out[out.length - 1] += symbol;
        else out.push(symbol);
        return out;
      }, []),
    );
  }
  return merges;
}

const tokenTypes = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };

// Tokens that are control tokens although their tokenizer does not say so.
const looksSpecial = (token) =>
  ['<pad>', '<mask>', '<2mass>', '[@BOS@]'].includes(token) ||
  /^<\|.*\|>$|^<\uff5c.*\uff5c>$|^<unused.*>$/su.test(token);

// conversion/base.py: get_vocab_base, _create_vocab_sentencepiece; of Gemma 4 LlamaHfVocab in gguf-py/gguf/vocab.py.
function tokenLists(model, { model: { vocab }, added_tokens: added }, vocabSize) {
  const entries = Array.isArray(vocab) ? vocab.map(([token], id) => [token, id]) : Object.entries(vocab);
  const byId = new Map(entries.map(([token, id]) => [id, token]));
  for (const { id, content } of added) byId.set(id, content);
  const special = new Map(added.map(({ id, special }) => [id, special]));
  return Array.from({ length: vocabSize ?? byId.size }, (_, id) => {
    const token = byId.get(id);
    if (token === undefined) return [`[PAD${id}]`, tokenTypes.unused];
    if (/^<0x[0-9A-F]{2}>$/.test(token)) return [token, tokenTypes.byte];
    if (!special.has(id)) return [token, tokenTypes.normal];
    if (special.get(id)) return [token, token === '<unk>' ? tokenTypes.unknown : tokenTypes.control];
    if (model === 'gemma4') return [token, id < entries.length ? tokenTypes.normal : tokenTypes.userDefined];
    if (looksSpecial(token)) return [token, tokenTypes.control];
    return [token.replaceAll('\u2581', ' '), tokenTypes.userDefined];
  });
}

const contentOf = (token) => token?.content ?? token ?? undefined;

// SpecialVocab of gguf-py/gguf/vocab.py: the ids of special tokens, and which of them a text begins and ends with.
function specialEntries({ post_processor: post, added_tokens: added }, config) {
  const entries = {};
  const [bos, eos] = [contentOf(config.bos_token ?? config.cls_token), contentOf(config.eos_token ?? config.sep_token)];
  const { unk_token: unknown, sep_token: seperator, pad_token: padding, mask_token: mask, cls_token: cls } = config;
  for (const [name, token] of Object.entries({ bos, eos, unknown, seperator, padding, mask, cls })) {
    const id = added.find(({ content }) => content === contentOf(token))?.id;
    if (id !== undefined) entries[`tokenizer.ggml.${name}_token_id`] = id;
  }
  const adds = {};
  for (const processor of post?.processors ?? [post]) {
    if (processor?.type === 'RobertaProcessing') Object.assign(adds, { bos: true, eos: true, sep: true });
    if (processor?.type !== 'TemplateProcessing') continue;
    const [first, last] = [0, -1].map((i) => processor.single.at(i).SpecialToken?.id);
    if (first !== undefined) adds.bos = first === bos;
    if (last !== undefined) adds.eos = last === eos;
  }
  for (const role of ['bos', 'eos', 'sep']) adds[role] = config[`add_${role}_token`] ?? adds[role];
  for (const [role, added] of Object.entries(adds)) {
    if (added !== undefined) entries[`tokenizer.ggml.add_${role}_token`] = added;
  }
  if (config.chat_template !== undefined) entries['tokenizer.chat_template'] = config.chat_template;
  return entries;
}

// As a SentencePiece model has them: of BPE the rank of the merge that makes the token.
function scoresOf({ model }, tokens) {
  if (Array.isArray(model.vocab)) return tokens.map((_, id) => model.vocab[id]?.[1] ?? -10000);
  const ranks = new Map();
  for (const [i, merge] of model.merges.entries()) {
    const token = (Array.isArray(merge) ? merge.join(' ') : merge).replace(' ', '');
    if (!ranks.has(token)) ranks.set(token, -i);
  }
  return tokens.map((token) => ranks.get(token) ?? 0);
}

/**
 * The metadata that llama.cpp's converter writes for a tokenizer, where `tokenizer.ggml.model` is `model`.
 *
 * @param {{ vocabSize?: number, entries?: object }} options vocabSize: rows of the model; entries: what is written besides.
 */
export function metadataOf(model, tokenizerJson, config = {}, { vocabSize, entries } = {}) {
  const list = tokenLists(model, tokenizerJson, vocabSize);
  const tokens = list.map(([token]) => token);
  const metadata = { 'tokenizer.ggml.model': model, 'tokenizer.ggml.pre': 'default' };
  metadata['tokenizer.ggml.token_type'] = Int32Array.from(list, ([, type]) => type);
  metadata['tokenizer.ggml.tokens'] = tokens;
  if (model === 'llama' || model === 't5') {
    metadata['tokenizer.ggml.scores'] = Float32Array.from(scoresOf(tokenizerJson, tokens));
  }
  if (model === 'gpt2' || model === 'gemma4') {
    const { merges } = tokenizerJson.model;
    metadata['tokenizer.ggml.merges'] = merges.map((merge) => (Array.isArray(merge) ? merge.join(' ') : merge));
  }
  if (model === 'bert') {
    const marked = (token) => (token.startsWith('##') ? token.slice(2) : `\u2581${token}`);
    metadata['tokenizer.ggml.tokens'] = list.map(([token, type]) =>
      type === tokenTypes.control ? token : marked(token),
    );
    if (tokenizerJson.normalizer.lowercase) metadata['tokenizer.ggml.normalizer.lowercase'] = true;
  }
  return new Map(Object.entries({ ...metadata, ...specialEntries(tokenizerJson, config), ...entries }));
}

/** The tokenizer of a GGUF file with this metadata. */
export const made = (metadata) => {
  const { tokenizerJson, tokenizerConfig } = tokenizerFromGguf({ metadata });
  // What JSON does not keep is no tokenizer.json.
  return new Tokenizer(JSON.parse(JSON.stringify(tokenizerJson)), tokenizerConfig);
};

/** Compares every text. A tokenizer.json may have a config with another kind of clean-up, so that is off. */
export function assertSame(metadata, tokenizerJson, config = {}) {
  const [original, tokenizer] = [new Tokenizer(tokenizerJson, config), made(metadata)];
  for (const text of texts) {
    for (const add_special_tokens of [true, false]) {
      const { ids } = original.encode(text, { add_special_tokens });
      assert.deepEqual(tokenizer.encode(text, { add_special_tokens }).ids, ids, JSON.stringify(text));
      const plain = { clean_up_tokenization_spaces: false };
      for (const options of [plain, { ...plain, skip_special_tokens: true }]) {
        if (ids.length > 0) assert.equal(tokenizer.decode(ids, options), original.decode(ids, options));
      }
    }
  }
}

// Parts of a tokenizer.json.
export const token = (id, content, special = true) => {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
};
export const specialToken = (id, type_id = 0) => ({ SpecialToken: { id, type_id } });
export const sequence = (id, type_id = 0) => ({ Sequence: { id, type_id } });
export const template = (single, pair) => ({ type: 'TemplateProcessing', single, pair, special_tokens: {} });
export const split = (regex, behavior = 'Isolated', invert = false) => ({
  type: 'Split',
  pattern: { Regex: regex },
  behavior,
  invert,
});
export const bytes = (use_regex) => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex });
export const splits = (...parts) => ({ type: 'Sequence', pretokenizers: parts });

export const corpus = publishedTexts.join(' ');
export const utf8 = new TextEncoder();
const words = corpus.match(/ ?\S+|\s+/g);
const byteMerges = trainBpe(
  words.map((word) => Array.from(utf8.encode(word), (byte) => byteCharacters[byte])),
  300,
);
export const vocabOf = (tokens) => Object.fromEntries(tokens.map((text, id) => [text, id]));

/** A tokenizer.json of BPE over bytes. */
export function byteLevel(pre_tokenizer, { ignore_merges = false, normalizer = null } = {}) {
  const merged = [...new Set(byteMerges.map(([left, right]) => left + right))];
  const vocab = vocabOf([...byteCharacters, ...merged]);
  const count = Object.keys(vocab).length;
  const added = [token(count, '<s>'), token(count + 1, '<|im_end|>'), token(count + 2, '<b>', false)];
  return {
    ...{ version: '1.0', normalizer, pre_tokenizer, post_processor: null, decoder: bytes(true) },
    added_tokens: added,
    model: { type: 'BPE', ignore_merges, vocab, merges: byteMerges.map((pair) => pair.join(' ')) },
  };
}

/** What a text is encoded as, for reading. */
export const encodes = (tokenizer, text, options) => tokenizer.encode(text, options).tokens.join('|');
/** Metadata of BPE over bytes, and more entries. */
export const ofBytes = (entries) =>
  metadataOf('gpt2', byteLevel(null), {}, { entries: { 'tokenizer.ggml.pre': 'gpt-2', ...entries } });

/** The error for metadata that is refused. */
export function failure(metadata) {
  try {
    made(metadata);
  } catch (error) {
    return error;
  }
  return assert.fail('no error');
}
