// Chapter: the playground.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'Everything from the chapters before, in one place. Type a sentence, choose how positions enter, and look into the scores before softmax makes weights of them: each is the sum of a part that comes from *content* and a part that comes from *position*.',
  ],
  encoding: 'Position encoding',
  base: 'Base',
  ownBase: 'the model’s own',
  scaling: 'Frequencies',
  scalings: { default: 'unscaled', linear: 'PI', ntk: 'NTK', yarn: 'YaRN', llama3: 'Llama 3' },
  factor: 'Factor',
  seed: 'Seed',
  wish: 'Rotary encoding',
  wishes: {
    own: 'the model’s own',
    none: 'none',
    default: 'unscaled',
    linear: 'PI',
    ntk: 'NTK',
    yarn: 'YaRN',
    llama3: 'Llama 3',
  },
  scores: {
    view: 'Maps',
    views: {
      apart: 'all parts of one head',
      probabilities: 'weights',
      biased: 'scores',
      content: 'content',
      position: 'position',
    },
    head: 'Head',
    layer: 'Layer',
    parts: { content: 'content', position: 'position', biased: 'score', probabilities: 'weight' },
    terms: { position: '+ position', biased: '= score', probabilities: '→ softmax → weight' },
    query: 'query',
    key: 'key',
    corner: 'looks at',
    title: (head: string, part: string) => `Head ${head}: ${part}`,
    tell: (head: string, part: string, from: string, to: string, value: string) =>
      `head ${head}, ${part}: ${from} looks at ${to}, ${value}`,
    hidden: (head: string, from: string, to: string) => `head ${head}: ${from} may not look at ${to}`,
    table: (head: string, part: string) => `Head ${head}, ${part}: rows look at columns`,
  },
  stack: {
    sentence: 'the dog chased the cat and the cat ran',
    label: 'Sentence or tokens',
    caption:
      'Scores of the last layer of a stack with random weights: content + position = score, and the weights that softmax makes of the scores. Purple is below zero, green above, and the three maps that add up have one scale. A window counts the word itself.',
    encodings: {
      none: 'None',
      sinusoidal: 'Sinusoidal',
      half: 'RoPE, halves',
      interleaved: 'RoPE, interleaved',
      alibi: 'ALiBi',
      t5: 'T5',
      kerple: 'KERPLE',
      shaw: 'Shaw',
      relativeKey: 'BERT: key',
      relativeKeyQuery: 'BERT: key and query',
      m3: 'Huang’s M3',
    },
    heads: 'Heads',
    kvHeads: 'Heads of keys and values',
    layers: 'Layers',
    causal: 'Causal: look back only',
    window: 'Window',
    sinks: 'First words that stay visible',
    all: 'none',
    empty: 'Type a word or two.',
    tooMany: (used: string, all: string) => `The maps show the first ${used} of ${all} words.`,
    summary: (content: string, position: string) =>
      `Over all heads and cells, content moves the scores by ${content} and position by ${position} (root mean square).`,
    summaryNone: (content: string) =>
      `Nothing in these scores comes from position; content moves them by ${content} (root mean square). Copies of a word have equal rows as long as no mask tells them apart.`,
    summaryAdded: (content: string) =>
      `The waves were added to the words before the first layer: their part is within content, which moves the scores by ${content} (root mean square), and no single part of the score is theirs alone.`,
  },
  meaningsProse: ['What the two parts are depends on the encoding:'],
  meanings: [
    'RoPE: content is the product of query and key before the turn; position is what the turn changes.',
    'ALiBi, T5 and KERPLE: position is the number that is added.',
    'Shaw and BERT: position is the product with the vectors of the distance.',
    'M3: position is what its factors change.',
    'Sinusoidal: the waves are part of each word before queries and keys are made, and count as content here. In the first layer the score is a sum of four products, word or wave with word or wave, so the product of the words alone could be told from the rest exactly. In later layers it cannot: the waves have passed through a softmax.',
  ],
  weights: [
    'The weights are random, from a seed, and nobody has trained them. So there is no grammar in these maps, only what the encoding makes of random queries and keys. Each word’s vector is made from its letters, so that equal words are equal.',
  ],
  formula:
    'The score of key $j$ for query $i$ is content $c$ plus position $p$. The last sum is over all keys $l$ that the query may see.',
  ask: {
    question: 'The encoding is ALiBi, and the map is of its position part. What changes when you exchange two words?',
    answers: [
      ['Two rows and two columns are exchanged.', 'The content part does that: it goes along with the words.'],
      ['Nothing.'],
      [
        'Only the columns near the diagonal change.',
        'The diagonal is where the distance is 0, whichever word stands there.',
      ],
    ],
    explanation:
      'ALiBi subtracts a slope times the distance, whatever the words are. With RoPE the position part does change: it is what turning did to this query and this key.',
  },
  afterStack: ['Things to try:'],
  tries: [
    'Give RoPE a base of 10 and look at the position part: within the sentence even the slowest pair turns a good way.',
    'Let two heads of keys serve four heads of queries. The position part of RoPE differs between heads all the same.',
    'Set the window to two, keep the first word visible, tick the causal box, and follow the first column.',
    'Choose no encoding, tick the causal box and add layers: order leaks in through the mask.',
  ],
  modelTitle: 'Bring your own model',
  modelProse: [
    'The same view of trained weights: a BERT, a RoFormer, a GPT-NeoX or a model of the LLaMA family, as Hugging Face saves it or as a GGUF file. Give the `.gguf`, which holds everything, or `config.json` and `model.safetensors` (or the index with all of its files). They are read in this page, by a worker of its own; nothing leaves your device.',
    'Without files at hand, load the small model that comes with this page (0.6 MiB), which was trained on Jane Austen’s novels. Or let the page make one with random weights: it has learnt nothing and writes nonsense, but it is loaded, looked at and run by the same code.',
  ],
  model: {
    caption:
      'A model in the memory of this page. Loading can be cancelled at any time; what had been loaded is freed again.',
    choose: 'Choose files',
    drop: 'or drop them here: a .gguf; or config.json, model.safetensors (or its index and parts), and tokenizer.json if you would rather write text',
    make: {
      trained: 'Load the small model',
      decoder: 'Make a small decoder for me',
      encoder: 'Make a small encoder for me',
    },
    loading: 'Loading the model',
    none: 'There is no model yet.',
    given: (names: string) => `So far: ${names}.`,
    useless: (names: string) =>
      `Not of use here: ${names}. A model is a .gguf, or config.json and files that end in .safetensors, not packed into an archive.`,
    missing: {
      config: 'config.json is still missing.',
      weights: 'A file that ends in .safetensors is still missing.',
      index: 'These are parts of a model; the file that ends in .safetensors.index.json is still missing.',
      first: 'These are parts of a .gguf; the first is still missing.',
    },
    absent: (names: string) => `The index names more parts, which are still missing: ${names}.`,
    rivals: (names: string) => `Which of these is the model? Give one of them: ${names}.`,
    about: (architecture: string, kind: string) => `${architecture}, ${kind}`,
    kinds: { decoder: 'a decoder', encoder: 'an encoder' },
    number: 'number',
    memory: 'Memory',
    names: {
      parameters: 'parameters',
      layers: 'layers',
      heads: 'heads',
      kvHeads: 'heads of keys and values',
      headDim: 'size of a head',
      vocabSize: 'tokens it knows',
      base: 'base of RoPE',
      maxLength: 'positions in training',
      weights: 'weights as they are kept',
      usedBytes: 'in use now',
      peak: 'most in use at once',
      heapBytes: 'taken from the system',
    },
    summary: (architecture: string, parameters: string, size: string) =>
      `${architecture} with ${parameters} parameters in ${size} MiB.`,
  },
  lookProse: [
    'Tokens are given as ids, the rows of the model’s table. If you gave a tokenizer.json as well, you can write text: [@huggingface/tokenizers](https://www.npmjs.com/package/@huggingface/tokenizers) cuts it into tokens as the model’s makers do, which ropewalk leaves to others. Without one, ids are enough.',
    'Then give the model another rotary encoding. The weights stay, and you see what they had learnt to expect.',
  ],
  askLook: {
    question: 'You set the rotary encoding of a model to none. What is left of its maps?',
    answers: [
      [
        'Nothing changes: the weights are the same.',
        'The first layer’s queries and keys are the same, but nothing turns them before they meet.',
      ],
      [
        'All maps become flat.',
        'A map is flat where all scores are equal. Without the turn they still tell words apart.',
      ],
      ['The content part of the first layer stays; what the rotation told of near and far is gone.'],
    ],
    explanation:
      'Content is what the scores are without rotation, and in the first layer it depends on the words alone. From the second layer on it changes too, since what comes in was mixed with other weights. A causal mask still lets some order through.',
  },
  look: {
    caption:
      'Attention of your model for these tokens, and the tokens that it finds likeliest at the chosen place, beside those of the unchanged model.',
    ids: 'Token ids, or text where there is a tokenizer',
    at: 'Place of the likeliest tokens',
    noModel: 'First load a model, or make a small one, in the figure above.',
    noTokenizer: (item: string) => `“${item}” is no id, and text takes a tokenizer.json, which was not given.`,
    empty: 'Write some ids.',
    tooMany: (used: string, all: string) => `The maps show the first ${used} of ${all} tokens.`,
    notRotary: (position: string) => `This model has no rotary encoding to replace; its positions are: ${position}.`,
    topAfter: (place: string) => `Likeliest next tokens after place ${place}`,
    topIn: (place: string) => `Likeliest tokens in place ${place}`,
    token: 'token',
    probability: 'probability',
    ownProbability: 'unchanged model',
    summary: (layer: string, content: string, position: string) =>
      `Layer ${layer}: over all heads and cells, content moves the scores by ${content} and position by ${position} (root mean square).`,
    summaryNone: (layer: string, content: string) =>
      `Layer ${layer}: nothing in these scores comes from position; content moves them by ${content} (root mean square).`,
    changed: (summary: string, difference: string) =>
      `${summary} Some attention weight differs by ${difference} from the unchanged model.`,
    unchanged: (summary: string) => `${summary} No attention weight differs from the unchanged model.`,
  },
  writeProse: [
    'A decoder goes on from there, token by token. The seed decides each draw, so the same settings write the same tokens again, here or in a program of yours. Temperature 0 takes the likeliest token each time.',
  ],
  write: {
    caption: 'Tokens that follow those of the figure above, with the encoding that is chosen there.',
    temperature: 'Temperature',
    greedy: '0, the likeliest',
    off: 'off',
    length: 'Tokens',
    run: 'Generate',
    stop: 'Stop',
    stopped: 'Stopped.',
    tokens: 'Generated tokens',
    noModel: 'First load a decoder, or make a small one, in the figure above.',
    encoder: 'An encoder sees both sides and gives no next token; the figure above shows what it puts into a place.',
    noHead: 'This checkpoint has no head that gives logits, and so no next token.',
    tooMany: (used: string, all: string) => `This goes on from the first ${used} of ${all} tokens.`,
    notYet: 'Nothing is generated yet.',
    summary: (count: string, rate: string) => `${count} tokens, ${rate} per second on your device.`,
    table: 'Generated tokens with the logarithms of their probabilities',
    place: 'place',
    id: 'id',
    logprob: 'log probability',
  },
  decoder: () => import('./decoder-en'),
  pitfalls: [
    [
      '“A map of attention shows what a model thinks.”',
      'It shows how much was taken from where, in one layer and head. It does not show what was taken, nor what became of it later. And a weight can be large only because it has to go somewhere: the first word often gets it.',
      'Disputed since [Jain and Wallace, 2019](https://arxiv.org/abs/1902.10186); for the first word see [Xiao et al., 2023](https://arxiv.org/abs/2309.17453).',
    ],
    [
      '“The base or the scaling is a setting that can be changed afterwards.”',
      'It is part of the weights. A model that was trained with one base reads other distances with another: change it above and watch what the probabilities do, long before the context is full.',
      'Both are options of llama.cpp: `--rope-freq-base` and `--rope-scaling`.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
