// Appendix: rounding, speed on this device, the package.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'This part is for those who want to know what is under the pictures: how angles round, and how fast all of it runs.',
  ],
  errorTitle: 'Angles that round',
  errorProse: [
    'The angle is position times frequency. Most programs form that product in 32-bit numbers, which have about seven digits. At position 1,000,000 most of them go into counting whole turns, and what is left for the angle itself is coarse.',
    'The solid hands below are exact. The dashed hands have angles formed in 32 bits, as Hugging Face does it. Move on and watch them part.',
  ],
  error: {
    at: 'Position',
    base: 'Base',
    hands: 'The eight fastest pairs: exact, and with angles in 32 bits',
    exact: 'exact',
    rounded: 'angles in 32 bits',
    pair: (i: string) => `pair ${i}`,
    spoken: (i: string, degrees: string) => `Pair ${i}: the two hands are ${degrees} degrees apart`,
    label: 'Error of cos and sin by position',
    position: 'position',
    y: 'largest error of cos and sin',
    measured: 'measured',
    rule: '2⁻²⁴ × position',
    caption:
      'A head of size 128. Above, its eight fastest pairs and the angle between their two hands in degrees. Below, the largest error over all pairs, on two logarithmic axes.',
    summary: (position: string, error: string) =>
      `Around position ${position} the largest error of cos and sin is ${error}.`,
  },
  errorAfter: [
    'The error grows in step with the position: a frequency and a product in 32 bits are each off by up to 2⁻²⁴ of themselves, half a unit in the last place, and the angles of fast pairs are nearly as large as the position. Up to a few thousand tokens it is lost in other noise. At a million it is a few degrees, and at sixteen million it is tens of degrees. The package keeps each frequency to 128 bits and has no such error; it can also imitate the 32-bit angles, for those who must match a model that was trained with them.',
  ],
  runTitle: 'How fast it runs on your device',
  runProse: [
    'Turning queries and keys takes little arithmetic and moves much memory. The package does it with SIMD instructions, four numbers at a time, in WebAssembly. Below, your device does the same work twice: with the package, and with plain JavaScript, written with care. And it copies the same numbers, without arithmetic.',
  ],
  formula:
    'To turn $N$ numbers of one head moves $12N$ bytes: $8N$ for the numbers, 4 in and 4 out for each, and $4N$ for the tables, a cosine and a sine for each two numbers. At $B$ bytes per second that takes $t$ seconds at least. Heads of one layer share the tables.',
  ask: {
    question:
      'One head of 2,048 tokens is turned, with cosines and sines at hand. How long does it take, if a copy of its numbers takes 1?',
    answers: [
      ['As long as the copy', 'The copy reads each number and writes it. The turn also reads the tables and computes.'],
      ['A few times as long'],
      [
        'A hundred times as long',
        'So it would be with a cosine and a sine computed for each pair. Here they are at hand.',
      ],
    ],
    explanation:
      'The turn moves half as many bytes again as the copy, and for each number it does two multiplications and an addition, four numbers at a time. Numbers as few as these lie in the cache of the processor, so that arithmetic counts as well as memory. Measure below how it is on your device.',
  },
  run: {
    table: 'Milliseconds for one call, medians',
    work: 'work',
    ways: { core: 'package', script: 'JavaScript', copy: 'copy only' },
    ratio: 'JavaScript : package',
    time: (milliseconds: string) => `${milliseconds} ms`,
    works: {
      rotate: 'RoPE, 2,048 tokens, head of 128',
      sinusoid: 'sinusoidal table, 2,048 × 256',
    },
    caption:
      'Medians of fifteen rounds, by turns, in the background; shorter bars are faster. RoPE turns its numbers where they are; a table is written over the one before. The last bar copies as many numbers and does nothing else.',
    notYet: 'Nothing is measured yet.',
    summary: (ratio: string, copies: string) =>
      `RoPE by the package is ${ratio} times as fast as plain JavaScript, and takes as long as ${copies} copies.`,
  },
  several: [
    'A layer multiplies large matrices. Several threads can share that work. The parts have to be large, since each hand-over costs some microseconds. No sum is split between threads, so the result has the same bits with any number of threads. A model that writes computes one word at a time; that is little work, and one thread does it.',
  ],
  threads: {
    table: 'Milliseconds for one pass, medians',
    work: 'pass',
    count: (threads: string, isOne: boolean) => (isOne ? 'one thread' : `${threads} threads`),
    works: (tokens: string) => `attention with RoPE, 8 heads of 32, tokens: ${tokens}`,
    time: (milliseconds: string) => `${milliseconds} ms`,
    caption:
      'Medians of fifteen rounds, by turns, in the background; shorter bars are faster. The browser allows it only where the server says that the page shares its memory with nobody.',
    notYet: 'Nothing is measured yet.',
    forbidden: (why: string) => `Here there is one thread: ${why}.`,
    summary: (ratio: string, isEqual: boolean) =>
      `Two threads are ${ratio} times as fast as one at the long pass. All give ${isEqual ? 'the same bits' : 'other bits'}.`,
  },
  packageTitle: 'The package',
  after: [
    'The state of linear attention keeps with each number what rounding took from it, and is twice as large for that. The cache keeps 24 bytes on where each token stands, and its keys in groups of eight.',
    'This page uses the build whose results are the same bits on every machine. Programs that do not need that get a faster one where the engine has relaxed SIMD.',
  ],
  pitfalls: [
    [
      'Positions in bfloat16.',
      'A number has eight significant bits there: 257 becomes 256, and two neighbouring tokens share a position.',
      'Found in Hugging Face’s diffusers, where all patches of a picture got one position ([#13920](https://github.com/huggingface/diffusers/issues/13920)).',
    ],
    [
      'Adding up a hundred thousand keys in 32 bits, one by one.',
      'What is added late is small against the sum and loses its last digits. The package keeps with each sum what rounding took from it.',
      'Follows from the arithmetic. The remedy is that of [Kahan, 1965](https://doi.org/10.1145/363707.363723).',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
