// Chapter: the sinusoidal encoding.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'A clock tells the time of day with three hands of different speed. The second hand tells near moments apart and is no help over hours; the hour hand is the other way round. Together they name every second of half a day, and one second later all of them stand almost where they stood.',
    'The encoding of the first Transformer is a clock with many hands ([Vaswani et al., 2017](https://arxiv.org/abs/1706.03762)). Each word’s position is the time. Every hand is slower than the one before it by the same factor, and since nothing jumps, neighbours always look alike.',
  ],
  clocks: {
    at: 'Position',
    play: 'Let time run',
    pause: 'Stop',
    label: 'The pairs of the encoding as clocks',
    pair: (i: string) => `pair ${i}`,
    spoken: (i: string, period: string, sin: string, cos: string) =>
      `Pair ${i}, a turn every ${period} positions: sine ${sin}, cosine ${cos}`,
    caption:
      'An encoding with 16 columns as eight clocks. Each hand starts at twelve; its distance to the right of the middle is the sine, its height the cosine. Below each, how many positions one turn takes.',
    summary: (position: string, fast: string, slow: string) =>
      `At position ${position} the first hand has made ${fast} turns, the last ${slow}.`,
    table: (position: string) => `Sine and cosine of each pair at position ${position}`,
    corner: 'pair',
  },
  numbers: [
    'A hand is two numbers: how far right its tip is, and how high. These are a sine and a cosine of the same angle, and the two together make a *pair*. Why both? A sine alone cannot tell two o’clock from four: both hands reach equally far to the right.',
    'Write all pairs of a position side by side and you have the row that is added to the word’s vector. Below, each row is a position and each column one number of the encoding. Click or touch a column to see it as a wave.',
  ],
  formula:
    '$p$ is the position, $D$ the number of columns, $i$ the pair: from 0 to $D/2 − 1$. The base $b$ is 10,000 in the paper.',
  ask: {
    question:
      'The columns on the left belong to small $i$, those on the right to large $i$. Where do the numbers change fastest?',
    answers: [
      ['On the left: small $i$ is fast.'],
      [
        'On the right: large $i$ is fast.',
        'In numbers as we write them, the fast digit stands on the right; here it is the other way round.',
      ],
      [
        'All columns change at the same speed.',
        'Then all would repeat after one wave, and positions a wave apart would have the same row.',
      ],
    ],
    explanation:
      'Pair 0 has frequency 1: one radian per position, a wave in 6.28 positions. Each further pair is slower. The last hardly moves within the picture: its wave takes tens of thousands of positions.',
  },
  map: {
    dim: 'Columns D',
    base: 'Base',
    column: 'Column',
    columns: 'column',
    layout: 'Order of the columns',
    interleaved: 'sin, cos, sin, cos',
    concatenated: 'all sin, all cos',
    label: 'The sinusoidal table',
    legend: 'Value',
    position: 'position',
    hint: 'Point at a cell, or walk with the arrow keys. A click, a touch or Enter chooses the column for the wave below.',
    wave: (column: string) => `Column ${column} as a wave`,
    cell: (position: string, column: string, wave: string, pair: string, period: string, value: string) =>
      `position ${position}, column ${column} (${wave === 'sin' ? 'sine' : 'cosine'} of pair ${pair}, wave of ${period} positions): ${value}`,
    caption:
      'The table for positions 0 to 95: purple below zero, green above. The column that the frame marks is drawn as a wave below.',
    summary: (column: string, wave: string, pair: string, period: string) =>
      `Column ${column} is the ${wave === 'sin' ? 'sine' : 'cosine'} of pair ${pair}: one wave in ${period} positions.`,
  },
  after: [
    'Compare this with the binary code. There too each bit was a wave, slower than that of the bit before it. The sinusoidal table is binary counting with its corners rounded off, and with two numbers for each wave.',
    'Play with the base. It sets how slow the slowest hands are. A base near 1 lets all hands run at almost the same speed. A large base keeps the last columns almost constant over the longest text. They are not wasted: the word itself can use them.',
  ],
  pitfalls: [
    [
      '“Small indices have long periods and catch what is far away.”',
      'It is the other way round. $ω_i$ falls as $i$ grows, so small $i$ is fast and has short periods. The wave above settles it.',
      'Found in a Chinese tutorial on absolute, relative and rotary encodings, section 1.',
    ],
    [
      'Plotting a table with two columns to show what the base does.',
      'With $D = 2$ there is only pair 0, and its frequency is base to the power of 0, which is 1 for every base. The bases 1, 5, 10 and 100 then give four times the same picture. Set the columns to 2 and move the base: nothing happens. You need at least four columns.',
      'Found in the program of “Position encodings in LLMs and MLLMs” (in Chinese).',
    ],
    [
      '“The period is $ω/2π$”, or “the longest period is $2π · 10,000$”.',
      'The period is $2π/ω$. And the exponent never quite reaches 1: the last pair has exponent $(D − 2)/D$, so its period stays below 62,832. For 16 columns it is 19,869.',
      'Both are found in the notes “Positional Embeddings” (in Chinese), section 3.',
    ],
    [
      'Taking “the” sinusoidal table for granted.',
      'The field has three. The paper alternates sine and cosine; Hugging Face’s Marian and RoFormer put all sines first; tensor2tensor does so too, and divides $i$ by $D/2 − 1$ instead of $D/2$. The first two differ by the order of columns, the third in its numbers. Weights trained with one do not fit another.',
      'Found in tensor2tensor’s `get_timing_signal_1d`, which [says that it differs from the paper](https://github.com/tensorflow/tensor2tensor/pull/177), and in Hugging Face’s `RoFormerSinusoidalPositionalEmbedding`.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
