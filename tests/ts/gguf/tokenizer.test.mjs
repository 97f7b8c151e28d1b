// tokenizerFromGguf: what each kind of tokenizer encodes after the way through a GGUF file, what is added to texts, and what
// its config says. Real vocabularies are in tests/peers/gguf-tokenizer.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Template } from '@huggingface/jinja';
import { tokenizerFromGguf } from 'ropewalk/models';
import {
  assertSame,
  byteLevel,
  corpus,
  encodes,
  made,
  metadataOf,
  ofBytes,
  sequence,
  specialToken,
  splits,
  template,
  texts,
  token,
  trainBpe,
  utf8,
  vocabOf,
} from '../support/gguf-tokenizer.mjs';

test('rows without a token, and tokens without a text, have names and are never met', () => {
  const stored = byteLevel(null);
  const metadata = metadataOf('gpt2', stored, {}, { vocabSize: 700, entries: { 'tokenizer.ggml.pre': 'gpt-2' } });
  const tokens = metadata.get('tokenizer.ggml.tokens');
  tokens[698] = tokens[699] = '';
  const tokenizer = made(metadata);
  assert.equal(tokenizer.id_to_token(650), '[PAD650]');
  assert.equal(tokenizer.id_to_token(699), '[EMPTY_699]');
  assert.ok(tokenizer.encode('a[PAD650]').ids.every((id) => id < 650));
});

test('a file that does not say how texts are split is refused, and takes the name that a caller adds', () => {
  const stored = byteLevel(null);
  const named = metadataOf('gpt2', stored, {}, { entries: { 'tokenizer.ggml.pre': 'gpt-2' } });
  const metadata = new Map(named);
  metadata.delete('tokenizer.ggml.pre');
  assert.throws(() => tokenizerFromGguf({ metadata }), { name: 'GgufError', key: 'tokenizer.ggml.pre' });
  const added = new Map(metadata).set('tokenizer.ggml.pre', 'gpt-2');
  assert.deepEqual(tokenizerFromGguf({ metadata: added }), tokenizerFromGguf({ metadata: named }));
});

// A vocabulary of SentencePiece: what the bytes are written as, merged pieces, characters.
const spaced = (text) => text.replaceAll(' ', '\u2581');
const characterMerges = trainBpe(
  corpus.match(/\n+| ?[^ \n]+| +/g).map((word) => [...spaced(word)]),
  250,
);
const bytePieces = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
const spmPieces = [...new Set(characterMerges.map(([left, right]) => left + right))];
const characters = new Set(spaced(corpus.replace(/[^\x20-\x7e]/g, '')) + spmPieces.join(''));

function sentencePiece(more = []) {
  const tokens = [...new Set(['<unk>', '<s>', '</s>', ...bytePieces, ...spmPieces, ...characters])];
  const added = [token(0, '<unk>'), token(1, '<s>'), token(2, '</s>')];
  for (const [i, content] of more.entries()) added.push(token(tokens.length + i, content, false));
  const merges = characterMerges.map((pair) => pair.join(' '));
  return { added_tokens: added, post_processor: null, model: { type: 'BPE', vocab: vocabOf(tokens), merges } };
}

// SentencePiece's BPE by its definition: always the neighbors that make the token of the highest score, the first of those.
function bestMerges(text, scores) {
  const symbols = [...text];
  for (;;) {
    let best = -1;
    const score = (i) => scores.get(symbols[i] + symbols[i + 1]) ?? -Infinity;
    for (let i = 0; i + 1 < symbols.length; ++i) {
      if (score(i) > (best < 0 ? -Infinity : score(best))) best = i;
    }
    if (best < 0) return symbols;
    symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
  }
}

function assertBestMerges(metadata, prefix, tried) {
  const tokenizer = made(metadata);
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const all = metadata.get('tokenizer.ggml.scores');
  const types = metadata.get('tokenizer.ggml.token_type');
  const scores = new Map(tokens.flatMap((text, id) => (types[id] === 1 ? [[text, all[id]]] : [])));
  for (const text of tried) {
    const symbols = bestMerges(spaced(prefix + text), scores);
    const pieces = symbols.flatMap((symbol) =>
      scores.has(symbol) ? [symbol] : Array.from(utf8.encode(symbol), (byte) => bytePieces[byte]),
    );
    const expected = ['<s>', ...(text === '' ? [] : pieces)];
    assert.deepEqual(tokenizer.encode(text).tokens, expected, JSON.stringify(text));
    if (text !== '') assert.equal(tokenizer.decode(tokenizer.encode(text, { add_special_tokens: false }).ids), text);
  }
}

// Control tokens are no text, and a space that is written as U+2581 would be none.
const plainTexts = texts.filter((text) => !/<(s|\/s|unk|0x41)>|\u2581/.test(text));

test('BPE with scores merges as SentencePiece does, and writes what is no token as bytes', () => {
  assertBestMerges(metadataOf('llama', sentencePiece()), ' ', plainTexts);
});

test('so it does without a space before the text, and where the list of merges is empty', () => {
  const entries = { 'tokenizer.ggml.add_space_prefix': false, 'tokenizer.ggml.merges': [] };
  assertBestMerges(metadataOf('llama', sentencePiece(), {}, { entries }), '', plainTexts);
});

const scored = (tokens, scores) => ({
  metadata: new Map([
    ['tokenizer.ggml.model', 'llama'],
    ['tokenizer.ggml.tokens', tokens],
    ['tokenizer.ggml.scores', scores],
  ]),
});
const mergesOf = (file) => tokenizerFromGguf(file).tokenizerJson.model.merges;

test('the merges are all ways to make all tokens, by the score of the token and the length of the left part', () => {
  let seed = 1;
  const random = (count) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % count;
  };
  const symbols = ['a', 'b', '\u2581', '\u00e9', '\u{1f600}', '\u{1f601}', '\ue000', '\u4e2d'];
  for (let i = 0; i < 200; ++i) {
    const word = () => Array.from({ length: 1 + random(7) }, () => symbols[random(1 + (i % 8))]).join('');
    const tokens = [...new Set(['<unk>', '<s>', '</s>', ...Array.from({ length: 100 }, word)])];
    const scores = Float32Array.from(tokens, () => -random(10));
    const ways = tokens.flatMap((token, id) =>
      Array.from({ length: token.length - 1 }, (_, at) => [token.slice(0, at + 1), token.slice(at + 1)])
        .filter((pair) => pair.every((part) => tokens.includes(part)))
        .map((pair) => ({ pair, id })),
    );
    ways.sort((a, b) => scores[b.id] - scores[a.id] || a.id - b.id || b.pair[0].length - a.pair[0].length);
    assert.deepEqual(
      mergesOf(scored(tokens, scores)),
      ways.map(({ pair }) => pair),
    );
  }
});

test('long tokens are not cut at every character', (t) => {
  const long = 'x'.repeat(15000);
  const tokens = ['<unk>', '<s>', '</s>', 'x', 'y', long, `${long}y`, `y${long}`];
  const slices = t.mock.method(String.prototype, 'slice');
  const merges = mergesOf(scored(tokens, new Float32Array(tokens.length)));
  const count = slices.mock.callCount();
  slices.mock.restore();
  assert.deepEqual(merges, [
    [long, 'y'],
    ['y', long],
  ]);
  assert.ok(count < 100, `${count} slices`);
});

const llamaNormalizers = [
  { type: 'Prepend', prepend: '\u2581' },
  { type: 'Replace', pattern: { String: ' ' }, content: '\u2581' },
];
const llamaDecoders = [
  { type: 'Replace', pattern: { String: '\u2581' }, content: ' ' },
  { type: 'ByteFallback' },
  { type: 'Fuse' },
];

test('merges in the file are used in place of scores, as a tokenizer.json of LLaMA has them', () => {
  const stored = sentencePiece(['<b>']);
  const { merges } = stored.model;
  const tokenizerJson = {
    ...stored,
    normalizer: { type: 'Sequence', normalizers: llamaNormalizers },
    pre_tokenizer: null,
    post_processor: template([specialToken('<s>'), sequence('A')], [specialToken('<s>'), sequence('A'), sequence('B')]),
    decoder: { type: 'Sequence', decoders: [...llamaDecoders, { type: 'Strip', content: ' ', start: 1, stop: 0 }] },
    model: { ...stored.model, unk_token: '<unk>', fuse_unk: true, byte_fallback: true },
  };
  const entries = { 'tokenizer.ggml.merges': merges, 'tokenizer.ggml.scores': new Float32Array(1000) };
  assertSame(metadataOf('llama', tokenizerJson, { bos_token: '<s>' }, { entries }), tokenizerJson);
});

test("Gemma 4's BPE has neither spaces before texts nor words, and takes line feeds in a row as one", () => {
  const stored = sentencePiece(['<b>']);
  const tokens = Object.entries(stored.model.vocab)
    .sort(([, a], [, b]) => a - b)
    .map(([text]) => text);
  const runs = ['\n\n\n\n\n', '\n\n\n\n\n\n'];
  const tokenizerJson = {
    ...stored,
    normalizer: llamaNormalizers[1],
    pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false },
    post_processor: template([specialToken('<s>'), sequence('A')], []),
    decoder: { type: 'Sequence', decoders: llamaDecoders },
    model: { ...stored.model, unk_token: '<unk>', fuse_unk: true, byte_fallback: true },
  };
  tokenizerJson.model.vocab = vocabOf([...tokens, ...runs]);
  const added = runs.map((run, i) => token(tokens.length + i, run, false));
  tokenizerJson.added_tokens = [...stored.added_tokens.slice(0, 3), ...added, token(tokens.length + 2, '<b>', false)];
  const entries = { 'tokenizer.ggml.add_bos_token': false }; // which old files say
  assertSame(metadataOf('gemma4', tokenizerJson, { bos_token: '<s>' }, { entries }), tokenizerJson);
});

test('tokens of the user are found before all else, the longest first', () => {
  const metadata = metadataOf('llama', sentencePiece(['    ', '  ', '<b>']));
  const tokenizer = made(metadata);
  assert.equal(encodes(tokenizer, 'Hello      <b>'), '<s>|\u2581Hello|    |  |<b>');
  const [id] = tokenizer.encode('  ', { add_special_tokens: false }).ids;
  assert.equal(tokenizer.decode([id, 2], { skip_special_tokens: true }), ' '); // one is the space before a text
});

const unigramTokens = [
  ...[
    ['<pad>', 0],
    ['</s>', 0],
    ['<unk>', 0],
    ['\u2581', -2],
    ['\u2581the', -3],
    ['\u2581Hello', -4.5],
  ],
  ...[
    ['\u2581world', -5],
    ['llo', -6],
    ['\u2581He', -5.5],
    ['or', -5.25],
    ['33', -6.5],
    ['\u2581\u2581', -9],
  ],
  ...[..."abcdefghijklmnopqrstuvwxyzABCDEHILMTW0123456789.,!?'-"].map((each, i) => [each, -7 - i / 16]),
];
const unigram = (normalizers, pretokenizers) => ({
  added_tokens: [token(0, '<pad>'), token(1, '</s>'), token(2, '<unk>'), token(unigramTokens.length, '<b>', false)],
  normalizer: normalizers,
  pre_tokenizer: pretokenizers,
  post_processor: template(
    [sequence('A'), specialToken('</s>')],
    [sequence('A'), specialToken('</s>'), sequence('B'), specialToken('</s>')],
  ),
  decoder: { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'always' },
  model: { type: 'Unigram', unk_id: 2, vocab: unigramTokens },
});

const unigramConfig = { eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' };

test('Unigram encodes every text as its tokenizer.json does', () => {
  const charsmap = Int8Array.of(4, 0, 0, 0, -1, 127, -128, 65);
  const normalizer = { type: 'Precompiled', precompiled_charsmap: Buffer.from(charsmap).toString('base64') };
  const metaspace = { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'always' };
  const stored = unigram(normalizer, splits({ type: 'WhitespaceSplit' }, metaspace));
  const entries = {
    'tokenizer.ggml.remove_extra_whitespaces': true,
    'tokenizer.ggml.add_space_prefix': true,
    'tokenizer.ggml.precompiled_charsmap': charsmap,
  };
  const metadata = metadataOf('t5', stored, unigramConfig, { vocabSize: 100, entries });
  assertSame(metadata, stored, unigramConfig);
  const [found] = tokenizerFromGguf({ metadata }).tokenizerJson.normalizer.normalizers;
  assert.deepEqual(found, normalizer);
  entries['tokenizer.ggml.precompiled_charsmap'] = new Uint8Array(charsmap.buffer);
  assert.deepEqual(
    tokenizerFromGguf({ metadata: metadataOf('t5', stored, unigramConfig, { entries }) }).tokenizerJson.normalizer
      .normalizers,
    [normalizer],
  );
});

test('Unigram keeps spaces where the file does not say that it removes them', () => {
  const prefixed = metadataOf('t5', unigram(null, null), unigramConfig, {
    entries: { 'tokenizer.ggml.add_space_prefix': true },
  });
  assert.equal(encodes(made(prefixed), 'Hello  world'), '\u2581Hello|\u2581|\u2581world|</s>');
  const plain = metadataOf('t5', unigram(null, null), unigramConfig);
  assert.equal(encodes(made(plain), ' Hello world'), '\u2581Hello|\u2581world|</s>');
  assert.equal(encodes(made(plain), 'Hello world', { add_special_tokens: false }), 'H|e|llo|\u2581world');
  for (const metadata of [prefixed, plain]) {
    for (const text of ['Hello world', ' Hello world', '  Hello  world ']) {
      const { ids } = made(metadata).encode(text);
      assert.equal(made(metadata).decode(ids, { skip_special_tokens: true }), text);
    }
  }
});

const wordPieces = [
  '[PAD]',
  '[UNK]',
  '[CLS]',
  '[SEP]',
  '[MASK]',
  '[unused0]',
  'hello',
  'world',
  'the',
  '##llo',
  '##rs',
];
const letters = [...'abcdefghijklmnopqrstuvwxyz0123456789', ...'.,!?-\'"`#$/<>|=()_', ...'дещнбългарски', '我', '想'];

function wordPiece(lowercase, more = []) {
  const tokens = [...wordPieces, ...letters, ...letters.map((each) => `##${each}`), ...more];
  return {
    added_tokens: [0, 1, 2, 3, 4].map((id) => token(id, wordPieces[id])),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: template(
      [specialToken('[CLS]'), sequence('A'), specialToken('[SEP]')],
      [specialToken('[CLS]'), sequence('A'), specialToken('[SEP]'), sequence('B', 1), specialToken('[SEP]', 1)],
    ),
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      ...{ type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100 },
      vocab: vocabOf(tokens),
    },
  };
}
const bertConfig = {
  ...{ cls_token: '[CLS]', sep_token: '[SEP]', unk_token: '[UNK]', pad_token: '[PAD]', mask_token: '[MASK]' },
};

test('WordPiece encodes every text as its tokenizer.json does, with capitals and without', () => {
  const capitals = [...'ABCDEHILMTW', '##L', '##D', 'Hello', '##World'];
  for (const stored of [wordPiece(true), wordPiece(false, capitals)]) {
    assertSame(metadataOf('bert', stored, bertConfig), stored, bertConfig);
  }
  const shouting = { 'tokenizer.ggml.normalizer.lowercase': true, 'tokenizer.ggml.normalizer.strip_accents': false };
  const tokenizer = made(metadataOf('bert', wordPiece(false, ['É', 'é']), bertConfig, { entries: shouting }));
  assert.equal(encodes(tokenizer, 'É'), '[CLS]|é|[SEP]');
});

test('pairs of WordPiece have their types, and old files call bos cls', () => {
  const metadata = metadataOf('bert', wordPiece(true), bertConfig);
  metadata.delete('tokenizer.ggml.bos_token_id');
  const {
    ids,
    tokens,
    token_type_ids: types,
  } = made(metadata).encode('hello', { text_pair: 'the', return_token_type_ids: true });
  assert.deepEqual(tokens, ['[CLS]', 'hello', '[SEP]', 'the', '[SEP]']);
  assert.deepEqual(types, [0, 0, 0, 1, 1]);
  assert.equal(made(metadata).decode(ids.slice(1, 2).concat(9)), 'hellollo');
  // Before 2024-06 converters left names in brackets as they are, whatever their type.
  const old = metadata.get('tokenizer.ggml.tokens').map((text) => text.replace(/^\u2581(?=\[.+\])/, ''));
  assert.equal(made(metadata.set('tokenizer.ggml.tokens', old)).id_to_token(5), '[unused0]');
});

test('what begins, ends and separates texts is what the file says, and else what llama.cpp takes', () => {
  const ids = {
    'tokenizer.ggml.bos_token_id': 65,
    'tokenizer.ggml.eos_token_id': 66n,
    'tokenizer.ggml.seperator_token_id': 67,
  };
  const [bos, eos, sep] = ['bos', 'eos', 'sep'].map((role) => `tokenizer.ggml.add_${role}_token`);
  const encoded = (entries, options) => encodes(made(ofBytes({ ...ids, ...entries })), 'x', options);
  const pair = { text_pair: 'y' };
  assert.equal(encoded({}), 'x');
  assert.equal(encoded({}, pair), 'x|y');
  assert.equal(encoded({ [bos]: true, [eos]: true }), 'A|x|B');
  assert.equal(encoded({ [bos]: true, [eos]: true, [sep]: true }, pair), 'A|x|B|C|y|B');
  assert.equal(encoded({ [bos]: true, [eos]: true }, { ...pair, add_special_tokens: false }), 'x|y');
  assert.equal(encoded({ 'tokenizer.ggml.pre': 'roberta-bpe' }, pair), 'x|C|y');
  assert.equal(encoded({ 'tokenizer.ggml.pre': 'llama-bpe' }), 'A|x');
  assert.equal(encoded({ 'tokenizer.ggml.pre': 'llama-bpe', [bos]: false }), 'x');
  const llama = metadataOf('llama', sentencePiece());
  assert.equal(encodes(made(llama), 'Hello'), '<s>|\u2581Hello');
  assert.equal(encodes(made(llama.set(bos, false).set(eos, true)), 'Hello'), '\u2581Hello|</s>');
});

test('the end of a text may be a token without a name for it, or none', () => {
  const ends = (id) => tokenizerFromGguf({ metadata: ofBytes({ 'tokenizer.ggml.eos_token_id': id }) }).endIds;
  const named = ends(undefined);
  assert.deepEqual(ends(65), [65, ...named]);
  for (const none of [-1, 2 ** 32 - 1, 2n ** 32n - 1n]) assert.deepEqual(ends(none), named);
});

test('the config names the tokens, and leaves out ids that are none', () => {
  const entries = {
    'tokenizer.ggml.bos_token_id': 65,
    'tokenizer.ggml.eos_token_id': 66,
    'tokenizer.ggml.unknown_token_id': 67,
    'tokenizer.ggml.padding_token_id': 2 ** 32 - 1,
    'tokenizer.ggml.mask_token_id': -1,
  };
  const { tokenizerConfig } = tokenizerFromGguf({ metadata: ofBytes(entries) });
  assert.deepEqual(JSON.parse(JSON.stringify(tokenizerConfig)), {
    bos_token: 'A',
    eos_token: 'B',
    unk_token: 'C',
    add_bos_token: false,
    add_eos_token: false,
    clean_up_tokenization_spaces: false,
  });
  assert.equal(made(ofBytes(entries)).decode([65, 120, 66], { skip_special_tokens: true }), 'x');
  const bert = tokenizerFromGguf({ metadata: metadataOf('bert', wordPiece(true), bertConfig) }).tokenizerConfig;
  assert.equal(bert.cls_token, '[CLS]');
  assert.equal(bert.mask_token, '[MASK]');
  assert.equal(bert.clean_up_tokenization_spaces, true);
});

test('ends are what the keys name, and tokens whose names say it, of any type', () => {
  const names = ['<|endoftext|>', '<|end_of_text|>', '<|im_end|>', '<|end|>', '<|eot_id|>', '<|eom_id|>'];
  names.push('<end_of_turn>', '<end_of_utterance>', '<EOT>', '_<EOT>', '[EOT]', '[EOS]', '<eos>', '<turn|>');
  const others = ['<|im_start|>', '<|end|>x', '<start_of_turn>', '<|user|>', 'EOT', '<|turn>', '[EOF]'];
  const stored = sentencePiece([...names, ...others]);
  const entries = { 'tokenizer.ggml.eot_token_id': 5, 'tokenizer.ggml.eom_token_id': 2 ** 32 - 1 };
  const metadata = metadataOf('llama', stored, {}, { entries });
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const first = tokens.indexOf(names[0]);
  const named = names.map((_, i) => first + i);
  assert.deepEqual(tokenizerFromGguf({ metadata }).endIds, [2, 5, ...named]); // </s> is 2 where no key says so
  // They are cut out of a text, as llama.cpp does, also where a converter made them words.
  const types = metadata.get('tokenizer.ggml.token_type');
  types.fill(1, first);
  const { endIds, tokenizerJson } = tokenizerFromGguf({ metadata });
  assert.deepEqual(endIds, [2, 5, ...named]);
  assert.ok(named.every((id) => tokenizerJson.added_tokens.find((each) => each.id === id)?.special));
  assert.equal(tokenizerJson.added_tokens.length, 4 + names.length);
});

test('the end of a channel ends no turn where the model has other ends, nor does </s> for Gemma 4', () => {
  const endsOf = (...names) => {
    const metadata = metadataOf('llama', sentencePiece(names), {}, { entries: { 'tokenizer.ggml.eos_token_id': -1 } });
    const tokens = metadata.get('tokenizer.ggml.tokens');
    return tokenizerFromGguf({ metadata }).endIds.map((id) => tokens[id]);
  };
  assert.deepEqual(endsOf('<|end|>', '<|call|>', '<|return|>'), ['</s>', '<|call|>', '<|return|>']);
  assert.deepEqual(endsOf('<|end|>', '<|calls|>', '<|flush|>'), ['</s>', '<|calls|>', '<|flush|>']);
  for (const name of ['<|call|>', '<|calls|>', '<|return|>', '<|flush|>']) {
    assert.deepEqual(endsOf('<|end|>', name), ['</s>', '<|end|>', name]);
  }
  assert.deepEqual(endsOf('<eos>', '<turn|>', '<|tool_response>'), ['<eos>', '<turn|>', '<|tool_response>']);
});

test('spaces beside a mask, and behind the tokens of Phi-3, belong to them', () => {
  const mask = { 'tokenizer.ggml.mask_token_id': byteLevel(null).added_tokens[1].id };
  assert.equal(encodes(made(ofBytes(mask)), 'x  <|im_end|> y'), 'x|<|im_end|>|Ġy');
  const phi = (architecture, type) => {
    const metadata = metadataOf(
      'llama',
      sentencePiece(['<|user|>']),
      {},
      {
        entries: { 'general.architecture': architecture },
      },
    );
    const types = metadata.get('tokenizer.ggml.token_type');
    types[types.length - 1] = type;
    return encodes(made(metadata), '<|user|>\nHello');
  };
  // Control tokens, which older converters wrote as the user's.
  for (const type of [3, 4]) {
    assert.equal(phi('phi3', type), '<s>|<|user|>|\u2581Hello');
    assert.equal(phi('llama', type), '<s>|<|user|>|\u2581|\n|Hello');
  }
});

test('the template of chats writes them, and encodes as one text', () => {
  const chat_template =
    '{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';
  const metadata = metadataOf('llama', sentencePiece(['<|im_start|>', '<|im_end|>']), { chat_template });
  const { tokenizerConfig } = tokenizerFromGguf({ metadata });
  const messages = [{ role: 'user', content: 'Hello world' }];
  const text = new Template(tokenizerConfig.chat_template).render({
    messages,
    add_generation_prompt: true,
    ...tokenizerConfig,
  });
  assert.equal(text, '<s><|im_start|>user\nHello world<|im_end|>\n<|im_start|>assistant\n');
  const { tokens } = made(metadata).encode(text, { add_special_tokens: false });
  assert.deepEqual(
    tokens.filter((each) => each.startsWith('<') && !each.startsWith('<0x')),
    ['<s>', '<|im_start|>', '<|im_end|>', '<|im_start|>'],
  );
});

test('several templates of chats keep their names', () => {
  const entries = {
    'tokenizer.chat_template': 'a',
    'tokenizer.chat_template.tool_use': 'b',
    'tokenizer.chat_templates': ['tool_use'],
  };
  const templates = (metadata) => tokenizerFromGguf({ metadata }).tokenizerConfig.chat_template;
  const named = { name: 'tool_use', template: 'b' };
  assert.deepEqual(templates(ofBytes(entries)), [{ name: 'default', template: 'a' }, named]);
  delete entries['tokenizer.chat_template'];
  assert.deepEqual(templates(ofBytes(entries)), [named]);
});
