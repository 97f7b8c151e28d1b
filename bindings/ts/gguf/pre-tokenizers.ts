// How texts are split before the merges of BPE, by the name in tokenizer.ggml.pre. The expressions are those of
// llama.cpp's src/llama-vocab.cpp; where it keeps an adaptation and quotes the original of the model, the original. It does
// not normalize texts; where `nfc` says so, the tokenizers of Hugging Face do.

/** @internal */
export interface PreTokenizer {
  /** Applied one after the other; what matches stands alone, and so does what lies between. */
  readonly patterns: readonly string[];
  /** Whether a word that is a token is taken as it is, not put together by merges. */
  readonly ignoreMerges?: boolean;
  /** Whether texts are normalized to NFC first. */
  readonly nfc?: boolean;
  /** Where the metadata does not say: whether a text begins with bos, and whether a pair is separated by sep. */
  readonly addBos?: boolean;
  readonly addSep?: boolean;
}

const gpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const spaces = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const kana = '[\\u4e00-\\u9fa5\\u3040-\\u30ff]+';
const sentence = ' ?[^(\\s|.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c)]+';

// Words of `letters`, with a character before them that is neither letter nor number, and `digits` of a number at a time.
const words = (digits: string, letters = '\\p{L}') =>
  `${contraction}|[^\\r\\n\\p{L}\\p{N}]?[${letters}]+|\\p{N}${digits}| ?[^\\s${letters}\\p{N}]+[\\r\\n]*|${spaces}`;

// Words that end before a capital letter follows a small one.
function cases(digits: string, suffix = ''): string {
  const [upper, lower] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
  const word = (first: string, then: string) => `[^\\r\\n\\p{L}\\p{N}]?${upper}${first}${lower}${then}${suffix}`;
  return `${word('*', '+')}|${word('+', '*')}|\\p{N}${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${spaces}`;
}

function rows(): readonly (readonly [names: string, PreTokenizer])[] {
  const [llama3, qwen2, digitThenGpt2] = [[words('{1,3}')], [words('')], ['\\p{N}', gpt2]];
  const o200k = cases('{1,3}', `${contraction}?`);
  return [
    [
      'gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert exaone4 jais trillion granite-docling',
      { patterns: [gpt2] },
    ],
    ['mpt olmo', { patterns: [gpt2], nfc: true }],
    ['jina-v1-en jina-v2-code roberta-bpe', { patterns: [gpt2], addSep: true }],
    ['smollm starcoder refact codeshell exaone minerva-7b mellum2', { patterns: digitThenGpt2 }],
    ['command-r', { patterns: digitThenGpt2, nfc: true }],
    [
      'llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano',
      { patterns: llama3, ignoreMerges: true, addBos: true },
    ],
    ['dbrx smaug-bpe glm4 chatglm-bpe', { patterns: llama3 }],
    ['qwen2', { patterns: qwen2, nfc: true }],
    ['deepseek-r1-qwen megrez kormo f2llmv2 stablelm2 hunyuan solar-open grok-2', { patterns: qwen2 }],
    ['qwen35', { patterns: [words('', '\\p{L}\\p{M}')], nfc: true }],
    ['gpt-4o llama4 kanana2 talkie minimax-m2', { patterns: [o200k] }],
    ['granite-embed-multi-97m', { patterns: [o200k], ignoreMerges: true }],
    ['minicpm5', { patterns: ['\\p{N}{1,3}', words('+')], ignoreMerges: true }],
    // Three digits at a time from the end of a number, as by \d{1,3}(?=(?:\d{3})*\b), whose time is the square of the
    // number's length: numbers first, then the digits of each; what is more than a number is taken whole.
    [
      'tiny_aya cohere2moe',
      { patterns: ['(?<!\\d)\\d+\\b', '^\\d*\\D[\\s\\S]*|^\\d{1,2}(?=(?:\\d{3})+$)|\\d{3}', o200k] },
    ],
    ['tekken', { patterns: [cases('')], ignoreMerges: true, addBos: true }],
    [
      'deepseek-v3 hunyuan-dense joyai-llm hy_v4',
      {
        patterns: [
          '\\p{N}{1,3}',
          kana,
          `[!"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_\`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|${spaces}`,
        ],
      },
    ],
    [
      'deepseek-coder',
      { patterns: ['[\\r\\n]', '\\s?\\p{L}+', '\\s?\\p{P}+', '[\\u0800-\\u9fa5\\uac00-\\ud7ff]+', '\\p{N}'] },
    ],
    ['falcon', { patterns: ['[\\p{P}$+<=>^~|`]+', gpt2, '[0-9]{3}'] }],
    ['default', { patterns: ['[\\p{P}$+<=>^~|]+', gpt2, '\\p{N}+', '[0-9]{3}'] }],
    ['bloom gpt3-finnish poro-chat', { patterns: [sentence] }],
    ['viking', { patterns: [sentence, '\\p{N}'] }],
  ];
}

/** How models split texts, by name. @internal */
export const preTokenizers = (): ReadonlyMap<string, PreTokenizer> =>
  new Map(rows().flatMap(([names, row]) => names.split(' ').map((name) => [name, row] as const)));
