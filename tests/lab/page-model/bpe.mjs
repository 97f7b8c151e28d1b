// A byte-pair tokenizer of a text in ASCII, as the tokenizer.json that '@huggingface/tokenizers' reads.

// How GPT-2 takes a text apart before it merges.
const words = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

// How its tokens spell a byte: those that are no printable characters have others from U+0100 on.
const spelled = (text) => text.replaceAll(' ', 'Ġ').replaceAll('\n', 'Ċ');

const unknown = '<unk>';

function merged(symbols, left, right) {
  const result = [];
  for (let i = 0; i < symbols.length; ++i) {
    const isPair = symbols[i] === left && symbols[i + 1] === right;
    result.push(isPair ? left + right : symbols[i]);
    if (isPair) ++i;
  }
  return result;
}

/** Merges the most frequent pair until there are so many tokens; of equal ones the first by code units. */
export function trainTokenizer(text, vocab) {
  const counts = new Map();
  for (const [word] of text.matchAll(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const entries = Array.from(counts, ([word, count]) => ({ symbols: [...spelled(word)], count }));
  const tokens = [unknown, ...[...new Set(spelled(text))].sort()];
  const merges = [];
  while (tokens.length < vocab) {
    const pairs = new Map();
    for (const { symbols, count } of entries) {
      for (let i = 1; i < symbols.length; ++i) {
        const pair = `${symbols[i - 1]} ${symbols[i]}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + count);
      }
    }
    const [best] = [...pairs].reduce((a, b) => (b[1] > a[1] || (b[1] === a[1] && b[0] < a[0]) ? b : a));
    const [left, right] = best.split(' ');
    merges.push([left, right]);
    tokens.push(left + right);
    for (const entry of entries) entry.symbols = merged(entry.symbols, left, right);
  }
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [
      { id: 0, content: unknown, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
    ],
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: unknown,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
}

/** The ids of a long text: each word is encoded once. */
export function encodeAll(tokenizer, text) {
  const known = new Map();
  const ids = [];
  for (const [word] of text.matchAll(words)) {
    if (!known.has(word)) known.set(word, tokenizer.encode(word).ids);
    ids.push(...known.get(word));
  }
  return Int32Array.from(ids);
}
