// Chapter: binary counting and its flaws.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'A position is a number. The plainest way to hand a number to a network is to write it down, and the plainest digits are 0 and 1. With four bits there is a code for each of sixteen positions, and no two positions share one.',
    'Read the picture row by row and something else appears. The lowest bit changes at every step, the next at every second step, the next at every fourth. Each row is a wave, twice as slow as the one below it. Keep that in mind: it comes back in the next chapter.',
  ],
  bitFormula: 'The bit of position $p$ that is worth $2^k$: 0 for $2^k$ positions, then 1 for as many.',
  ask: {
    question: 'Most steps change a bit or two. How many of the four bits change from position 7 to position 8?',
    answers: [
      ['One', 'One bit changes where a step leaves an even number, and 7 is odd.'],
      ['Two', 'Two change where a 1 is carried once, as from 5 to 6: 0101, 0110. Here it is carried three times.'],
      ['All four'],
    ],
    explanation:
      '0111 becomes 1000. The two positions are neighbours in the sentence, and opposite corners in the code.',
  },
  code: {
    bits: 'Bits',
    at: 'Position',
    grid: 'Bits of each position',
    legend: 'Bit',
    rows: 'worth of the bit',
    columns: 'position',
    step: 'position before the step',
    flips: 'bits that change',
    chart: 'How many bits change from each position to the next',
    cell: (position: string, place: string, bit: string) => `position ${position}, the bit worth ${place}: ${bit}`,
    caption:
      'Above, the code of each position, one column for each. Framed: the bits that change on the way to the next position. Below, how many change at each step.',
    summary: (from: string, to: string, before: string, after: string, n: number) =>
      `${from} → ${to}: ${before} becomes ${after}, ${n} ${n === 1 ? 'bit changes' : 'bits change'}.`,
    overflow: (bits: string, last: string) => `${bits} bits end at position ${last}. What comes after has no code.`,
  },
  cliff:
    'The jump at 7 → 8 is called a *Hamming cliff*: the number of bits in which two codes differ is their Hamming distance, and here it leaps. A network works with smooth functions of its inputs. Positions that are near each other should look alike to it, and these do not.',
  compared:
    'Below, every two positions are compared: once by the number of bits that differ, once by the distance between rows of the sinusoidal table of the next chapter. In a useful map the numbers are small near the diagonal and depend on nothing but the distance from it. Only one of the two keeps to that.',
  neighbours: {
    bits: 'Bits',
    position: 'position',
    binary: 'Binary code',
    sinusoidal: 'Sinusoidal encoding',
    bitsApart: 'Bits that differ',
    distance: 'Distance',
    cell: (p: string, q: string, bits: string, waves: string) =>
      `positions ${p} and ${q}: ${bits} bits differ; sinusoidal distance ${waves}`,
    caption: 'Every two positions compared, in bits and in waves. The sinusoidal table has 32 columns.',
    summary: (p: string, q: string, bits: string, here: string, first: string) =>
      `Between ${p} and ${q} in the middle: all ${bits} bits differ. The sinusoidal rows differ by ${here}, exactly as 0 and 1 do (${first}).`,
  },
  after: [
    'The second flaw is the end. Four bits have nothing to say about position 16. A model that was trained with eight bits has eight inputs; position 300 needs nine. Move the position slider to its far end and the package refuses, rather than wrap around and call position 16 position 0.',
    'The third flaw is subtler. The codes 0101 and 1000 do not show that 5 and 8 are three apart. To find it, the network would have to learn to subtract in binary, with its borrows. One would like a code in which “three further” is the same simple operation everywhere.',
    'So three wishes remain. Neighbours should look alike, the code should not end, and a shift should be simple. Keep the waves of different speed, and make them smooth.',
  ],
  card: [
    'An encoding can meet four criteria. Each position has a code of its own. Positions near each other look near. One operation leads a step further from everywhere. The encoding holds in texts longer than those of training. The chapters fill the scorecard one by one.',
  ],
  pitfalls: [
    [
      '“Every position has its own code, so positions are easy to tell apart.”',
      'That mixes two things. *Unique* means that no two codes are equal; binary is that. *Distinguishable in a useful way* means that near positions look alike and far ones do not; binary is not that.',
      'Found in the article “Position encodings in LLMs and MLLMs” (in Chinese), which says both that binary codes can be told apart and that they cannot.',
    ],
    [
      '“256 positions need nine bits, because 256 is 100000000.”',
      'Counting starts at 0. Positions 0 to 255 fit into eight bits; a length of exactly $2^b$ needs $b$ bits and not $b + 1$. And a length of one needs none at all.',
      'No text is known to say so. It follows from the number of codes: $b$ bits have $2^b$.',
    ],
    [
      'Letting a position that is too large wrap around.',
      'Position 16 in four bits would be 0000, the code of position 0. Nothing crashes and every result is wrong. An error is the better answer.',
      'The same article has the case, position 300 with eight bits. That a program may wrap around follows from the formula above: it gives bits for any $p$.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
