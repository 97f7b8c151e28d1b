// Chapter: the algebra of the sinusoidal encoding.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'Let all clocks run for three more positions. Each hand turns by an angle of its own. The angle depends on the hand’s speed and on the three. It does not depend on where the hand stood. So “three further” is one operation, the same at the beginning of a text and in its middle.',
    'In the language of matrices: for each step $k$ there is a matrix $M_k$ that turns the encoding of any position $p$ into that of $p + k$. It is made of small blocks along the diagonal, one for each pair, and each block turns its pair by $ω_ik$.',
  ],
  shiftFormula: 'The first two blocks of $M_k$; what is left out is zero. There is no $p$ in it.',
  shift: {
    p: 'Position p',
    k: 'Shift k',
    matrix: (k: string) => `M for k = ${k}`,
    rows: 'One position and the shifted one',
    entry: 'Value',
    row: 'row',
    position: 'position',
    column: 'column',
    cell: (row: string, column: string, value: string) => `row ${row}, column ${column}: ${value}`,
    caption:
      'The shift matrix of an encoding with eight columns, and what it does to one row. The second row is the matrix times the first; the third comes straight from the table.',
    summary: (k: string, p: string, far: string, off: string) =>
      `M for k = ${k}, applied to position ${p}, gives position ${far}; ${off === '' ? 'all numbers are the same' : `the numbers differ by at most ${off}`}.`,
  },
  product: [
    'Move $p$ and watch the matrix: it does not change. Move $k$, and the slow blocks on the lower right hardly stir while the first one spins. This is what the authors of the Transformer hoped for: a head could learn such a matrix and so attend “three words back”.',
    'Now compare two positions directly, by the dot product of their rows. Sine times sine plus cosine times cosine is the cosine of the difference of the angles. Sum over the pairs, and both positions have vanished from the formula; their difference is left.',
  ],
  dotFormula: 'Only $p − q$ is left, and inside a cosine.',
  ask: {
    question:
      'A word seven places ahead and a word seven places behind: how do their dot products with the present position compare?',
    answers: [
      [
        'The one ahead has the larger one.',
        'A curve that leans to one side needs sines; in the dot product only cosines are left.',
      ],
      ['They have opposite signs.', 'A sine would do that; in the dot product only cosines are left.'],
      ['They are equal.'],
    ],
    explanation:
      'The cosine does not mind the sign of its angle. The dot product tells how far, and it cannot tell in which direction.',
  },
  dot: {
    d: 'Distance',
    dim: 'Columns D',
    s: 'Shift by a matrix M',
    label: 'Dot product of two rows by the distance between their positions',
    x: 'distance p − q',
    y: 'dot product',
    caption:
      'The dot product of two rows of the sinusoidal table, at every distance. With the last slider a shift matrix is put between the two rows.',
    even: (d: string, ahead: string, behind: string) =>
      `At distance ${d} the dot product is ${ahead}, at distance −${d} it is ${behind}: direction is lost.`,
    moved: (d: string, ahead: string, behind: string, s: string) =>
      `With the shift matrix between them the peak lies at distance ${s}: ${ahead} at distance ${d}, ${behind} at −${d}.`,
  },
  after: [
    'The curve has a high peak at zero, falls on both sides, and swings. More columns make the fall steadier. It is a hint of distance, and no more than a hint.',
    'Direction is not lost for good. Between the two rows a model puts its own matrices, those that make queries and keys. If together they act like $M_k$, the peak moves from zero to distance $k$: pull the last slider. So direction *can* be learned. Chapters 5 and 6 have encodings that give it.',
    'There is one more blemish. The encoding is *added* to the word’s vector. Multiply two such sums and you get four products: word with word, word with place, place with word, place with place. Only the last is the curve above. One would like the distance to enter without the rest, and to enter the score of word with word itself. RoPE will do that.',
  ],
  pitfalls: [
    [
      'Proving the shift with $sin(p + k)$ and no $ω$.',
      'That proof is right for one pair only, the one with frequency 1. The angle is $ω_ik$, another one in each pair. So there is one block per pair, and $M_k$ is block diagonal.',
      'Found in the blog post “Position Embedding” (in Chinese), section 2.3.1.',
    ],
    [
      '“The sum of cosines identifies the offset $k$.”',
      'It cannot, since it is the same for $k$ and $−k$. And the letters matter: $k$ is the distance between two words; the *frequency channel* is the index $i$.',
      'Found in the same post, section 2.3.3.',
    ],
    [
      '“The sinusoidal encoding is a relative encoding.”',
      'It is an absolute one that contains the distance. The four products above also hold terms that depend on each position by itself.',
      'Found in the same section: “the absolute position has vanished”. [Su, 2021](https://www.kexue.fm/archives/8265) calls it an absolute encoding that would like to be a relative one.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
