// Chapter: linear attention with RoPE.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'Attention compares every word with every word. Twice as many words are four times the work. Where does the square come from, and can it go away?',
    'The weight of a key is the exponential of a dot product. The exponential stands in the middle, so all $T × T$ products have to be written out before the values can be added up. Put something softer in its place ([Katharopoulos et al., 2020](https://arxiv.org/abs/2006.16236)): a function $φ$ of each query and of each key by itself, and the plain dot product of the two. Then nothing stands in the middle any more, and of the three matrices either the first two or the last two may be multiplied first.',
  ],
  formula:
    '$φ$ is applied to each number. Whatever it is, it must not be negative, so that weights are not negative either.',
  ask: {
    question:
      'Queries, keys and values are $T × D$ each. With 4,096 tokens and heads of size 64: how much less work is it to multiply the keys with the values first?',
    answers: [
      ['About 2 times less', 'Both orders are two products, so the 2 cancels.'],
      ['About 64 times less'],
      [
        'About 4,000 times less',
        'That is $T$. In place of $T$ keys a query now meets the $D$ columns of the state, not a single one.',
      ],
    ],
    explanation:
      'One order takes $2 · T² · D$ multiplications, the other $2 · T · D²$. The ratio is $T / D$, here 64. With fewer tokens than $D$ the other order wins.',
  },
  tokens: 'Tokens T',
  dim: 'Head size D',
  cost: {
    squareFirst: 'Weights first',
    stateFirst: 'Keys and values first',
    weights: 'weights',
    state: 'state',
    out: 'result',
    each: (product: string) => `${product} multiplications in each step`,
    label: 'Multiplications by number of tokens',
    y: 'multiplications',
    caption:
      'Two orders of the same product, drawn to one scale; thin matrices are drawn a little thicker than they are, or they could not be seen. Below, the work of each order. Both axes are logarithmic.',
    check: 'Largest difference of the two results',
    difference: 'difference',
    first: (tokens: string) => `first ${tokens} tokens`,
    moreWork: (isFirst: boolean, ratio: string) =>
      `The ${isFirst ? 'first' : 'second'} is ${ratio} times the ${isFirst ? 'second' : 'first'}.`,
    sameWork: 'The work is the same.',
    summary: (square: string, state: string, compared: string, tokens: string, difference: string) =>
      `Weights first: ${square} multiplications. Keys and values first: ${state}. ${compared} Both give the same result: over the first ${tokens} tokens no number differs by more than ${difference}.`,
  },
  formsTitle: 'Where to put the rotation',
  formsProse: [
    'Linear attention has no matrix of weights. A bias or a table of distances would be added to that matrix, so it has no place here. RoPE has one: it turns each query and each key by itself. Turn $φ(q)$ and $φ(k)$, and their product again depends on the distance alone.',
    'One thing breaks. $φ$ was chosen so that no weight is negative. A turned vector has negative numbers, and the sum that we divide by may come near zero or fall below it. Su’s answer in the RoPE paper: turn the sum above the fraction line only. What we divide by is then the plain, positive sum; the price is that weights may be negative and no longer add up to 1. Another answer leaves $φ$ out and takes 1 plus the cosine between query and key. Turning does not change lengths, so that weight stays between 0 and 2.',
  ],
  formsFormula: ['the numerator', 'both sums', '1 + cos'],
  forms: {
    form: 'RoPE turns',
    kinds: { none: 'nothing', numerator: 'the numerator', both: 'both sums', cosine: 'unit vectors (1 + cos)' },
    map: 'Feature map φ',
    maps: { elu1: 'elu + 1', relu: 'relu', exp: 'exp' },
    seed: 'Random sequence number',
    label: 'Weights, causal',
    legend: 'weight',
    query: 'query',
    key: 'key',
    cell: (query: string, key: string, weight: string, sum: string, denominator: string) =>
      `Query ${query} gives key ${key} the weight ${weight}. Its weights add up to ${sum}; they were divided by ${denominator}.`,
    later: (query: string, key: string) => `Key ${key} comes after query ${query}.`,
    denominators: 'What each query is divided by',
    position: 'query',
    denominator: 'denominator',
    caption:
      'Twenty-four random queries and keys. Above, the weight that each query gives to each key; colours end at ±1, numbers do not. Below, the denominators as the package reports them.',
    summary: (form: string, negative: string, zero: string, least: string, largest: string) =>
      `RoPE turns ${form}: ${negative} of 24 denominators ${negative === '1' ? 'is' : 'are'} negative, ${zero === '0' ? 'none' : zero} ${zero === '1' || zero === '0' ? 'is' : 'are'} exactly 0. ${zero === '0' ? 'The' : 'Of the others the'} one nearest to 0 is ${least} away from it, and the largest weight is ${largest}.`,
  },
  formsAfter: [
    'With two coordinates there is only the fast pair, and the turned sum swings through zero: one of these weights is in the thousands. More pairs help, because the slow ones hardly turn and keep the sum up. That is luck, not a guarantee. Try relu: a query whose features are all zero has a denominator of exactly 0, in every form that divides by features. The package then gives a row of zeros and says so.',
    'Today many linear models do not divide at all. They normalise the result instead, as a layer norm does; there is nothing left that could vanish.',
  ],
  aimTitle: 'How sharply can it point?',
  aimProse: [
    'A head of ordinary attention can point three words back. Its query is the key turned by three positions, and the exponential makes a peak of the match. The peak is not all of the weight: the longer query and key are, the sharper it is. Here is such a query for each form, over 64 equal keys, so that nothing but distance decides. Softmax gives the key that it aims at about an eighth of the weight, where an equal share would be a sixty-fourth.',
  ],
  askAim: {
    question:
      'Features of elu + 1 are positive. The query is built to match the key eight positions back. Where will the largest weight be?',
    answers: [
      ['Eight back', 'With softmax it is there: compare its curve.'],
      ['At the query’s own place'],
      ['At the far end', 'Nothing here grows with distance; what turns comes and goes.'],
    ],
    explanation:
      'Positive features all lie in one quarter of the plane, so a query and a key can differ by at most a right angle in any pair. The features have lost the direction that meant “eight back” before RoPE turns them. At the query’s own place nothing is turned, so the weight there is exactly an equal share, and here all others are less. For some other distances the largest weight is elsewhere, but never where the query aims.',
  },
  aim: {
    back: 'Positions back',
    label: 'Weight of each of 64 equal keys',
    distance: 'distance to the key',
    y: 'relative to the curve’s largest',
    softmax: 'softmax',
    cosine: '1 + cos',
    features: 'elu + 1, numerator',
    aimed: 'aimed at',
    caption:
      'One query over 64 equal keys, built to match the key at the chosen distance. Each curve is divided by its own largest weight; the table has the weights themselves.',
    summary: (aim: string, softmax: string, cosine: string, features: string, at: string) =>
      `Aimed ${aim} back. Largest weights: softmax ${softmax} and 1 + cos ${cosine}, both there; elu + 1 ${features}, at distance ${at}. Equal shares would be 0.0156.`,
  },
  aimAfter: [
    'The cosine form aims well, but its weights hardly differ, since each contains the 1. Linear attention pays with that: it sees position, but softly.',
  ],
  stateTitle: 'A memory that does not grow',
  stateProse: [
    'When each word sees only itself and what came before, a running sum over keys and values is enough: add the new key times the new value, then answer the query. The sum is a matrix of $D × D$ numbers, however long the text. An ordinary cache keeps every key and every value.',
    'How many words are taken at a time does not matter: one by one, in chunks, or all at once, the sums are the same but for rounding.',
  ],
  stateFormula: 'Both sums begin at zero. Where only the numerator is turned, $z$ has keys that are not turned.',
  state: {
    chunk: 'Tokens at a time',
    chunkValue: (tokens: string) => (tokens === '1' ? 'one token' : `${tokens} tokens`),
    label: 'Memory by number of tokens',
    x: 'tokens',
    y: 'KiB',
    cache: 'KV cache',
    own: 'state',
    differences: 'Difference from one call, by token',
    token: 'token',
    error: 'largest difference',
    caption:
      'Above, the bytes that the package’s cache and its state take, for one head. The appendix says what they consist of. Below, 256 tokens appended in pieces, against one call for all: the largest difference in each token’s result. Results are about as large as 1; where nothing differs, the dot stands on the axis.',
    summary: (tokens: string, cache: string, state: string, chunk: string, difference: string) =>
      `At ${tokens} tokens the cache takes ${cache} KiB, the state ${state} KiB. With ${chunk} at a time ${difference === '0' ? 'nothing differs from one call' : `no result differs from one call’s by more than ${difference}`}.`,
  },
  after: [
    'So linear attention gives up the sharp peak, and in return its memory has a fixed size. Models that make this trade have since learned to forget: they let the state fade from step to step, or correct what it holds before they write. The package’s `recurrentAttention` has those forms.',
  ],
  pitfalls: [
    [
      '“RoPE is the only relative encoding that linear attention can have.”',
      'It was among the first. States that fade with each step ([RetNet](https://arxiv.org/abs/2307.08621), gated linear attention), xPos and [cosFormer](https://arxiv.org/abs/2202.08791)’s weights know of distance as well.',
      'Found in [Su, 2021](https://www.kexue.fm/archives/8265).',
    ],
    [
      '“All of RoPE together is not a rotation.”',
      'It keeps lengths and angles and does not mirror, so it is a rotation of a space of $D$ dimensions. It is a special one: it turns $D/2$ planes, each within itself.',
      'Found in a comment on the same article.',
    ],
    [
      'Adding a column of ones to the values to get the denominator for free.',
      'With RoPE the column is multiplied by the *turned* keys and summed up, as all values are. That is the denominator of “both sums”, which may vanish, not Su’s.',
      'Found in a comment on the same article. It has the trick from [SANA](https://arxiv.org/abs/2410.10629), which has no RoPE.',
    ],
    [
      'Masking the values of padding and forgetting its keys.',
      'The masked key still counts in the denominator, and every other weight becomes smaller. It has to be left out of both sums.',
      'Found in flash-linear-attention ([#1263](https://github.com/fla-org/flash-linear-attention/issues/1263)).',
    ],
    [
      'Reading the weights as probabilities.',
      'With RoPE in the numerator they may be negative and add up to something else. A picture of them needs a scale with a zero in the middle.',
      '[Su, 2021](https://www.kexue.fm/archives/8265) warns of it where he proposes the form.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
