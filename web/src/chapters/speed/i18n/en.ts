// Chapter: speed on this device.
import type { Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
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
    'A layer multiplies large matrices. Several threads can share that work, if the parts are large: to hand a part over costs some microseconds. The sums within a number are never split, so that the result has the same bits with any number of threads. One word alone, as when a model writes, is little work, and one thread does it.',
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
  after: [
    'This page uses the build whose results are the same bits on every machine. Programs that do not need that get a faster one where the engine has relaxed SIMD.',
  ],
};

export type Texts = Translated<typeof texts>;
