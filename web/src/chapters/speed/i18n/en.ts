// Chapter: speed on this device.
import type { Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'Turning queries and keys is little arithmetic on much memory. The package does it with SIMD instructions, four numbers at a time, in WebAssembly. Below, your device does the same work twice: with the package, and with plain JavaScript, written with care. And it copies the same numbers: as many bytes, and no arithmetic.',
  ],
  formula:
    'To turn $N$ numbers is to move $8N$ bytes, 4 in and 4 out for each. At $B$ bytes per second that takes $t$ seconds at least.',
  ask: {
    question: 'Many queries and keys are turned, with cosines and sines at hand. What takes most of the time?',
    answers: [
      ['The multiplications', 'There are two for each number, and with SIMD four numbers go through them at once.'],
      ['The cosines and sines', 'They would, if each call computed them anew. Here they are at hand.'],
      ['Reading and writing the numbers'],
    ],
    explanation:
      'Each number is read once with the cosine and the sine of its pair, meets two multiplications and one addition, and is written once. With SIMD the arithmetic is done before the memory is. Measure below how much longer than a mere copy it takes.',
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
  after: [
    'This page uses the build whose results are the same bits on every machine. Programs that do not need that get a faster one where the engine has relaxed SIMD.',
  ],
};

export type Texts = Translated<typeof texts>;
