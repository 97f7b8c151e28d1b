// Chapter: all encodings, side by side.
import type { Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'Every chapter so far looked at one encoding from close by. This one steps back and puts all of them side by side.',
  ],
  codeTitle: 'Whole attention, in code',
  codeProse: [
    'A position enters attention at one of three places. Sinusoidal and learned positions are added to the words, before queries and keys are made. RoPE and xPos turn queries and keys. All others change the scores, and Shaw the values as well.',
    'The figure computes attention with each encoding, on the same made-up queries, keys and values: two heads, eight tokens. Open the programs below it. Each is complete and runs as it stands, in NumPy, in PyTorch and in ropewalk, and the tests of this page check that the three agree to five digits.',
  ],
  formula:
    'The score of query $i$ and key $j$. $R$ turns, in RoPE and xPos; $b$ is a number for each distance, in T5, ALiBi and KERPLE.',
  ask: {
    question: 'Two words move on together by three places. Which programs give their score unchanged?',
    answers: [
      ['All of them', 'Sinusoidal and learned rows are added to the words: another place, another row, another score.'],
      ['Only RoPE and xPos', 'T5, ALiBi, KERPLE, Shaw, M3 and M4 read the distance, too.'],
      ['All but the sinusoidal and the learned one'],
    ],
    explanation: 'What enters through the distance alone does not see where the two words stand.',
  },
  attention: {
    encoding: 'Encoding',
    encodings: {
      none: 'None',
      sinusoidal: 'Sinusoidal',
      learned: 'Learned',
      shaw: 'Shaw',
      m3: 'M3',
      m4: 'M4',
      t5: 'T5',
      alibi: 'ALiBi',
      kerple: 'KERPLE',
      rope: 'RoPE, interleaved',
      ropeHalf: 'RoPE, halves',
      xpos: 'xPos',
    },
    library: 'Library',
    libraries: { numpy: 'NumPy', pytorch: 'PyTorch', ropewalk: 'ropewalk' },
    programs: 'The whole program in NumPy, PyTorch and ropewalk',
    lost: 'This program did not arrive. The connection may have been lost.',
    head: (head: string) => `Head ${head}`,
    weight: 'attention weight',
    query: 'query',
    key: 'key',
    cell: (head: string, query: string, key: string, weight: string) =>
      `Head ${head}: query ${query} takes ${weight} from key ${key}.`,
    row: (head: string, token: string) => `head ${head}, token ${token}`,
    out: 'What comes out',
    caption:
      'Attention weights of two heads with the encoding that is chosen. The numbers stand in for trained ones and are the same every time. ALiBi and xPos are made for causal models, so later keys are hidden there.',
    summary: (encoding: string, query: string, itself: string, first: string) =>
      `${encoding}: in head 0, query ${query} takes ${itself} from its own key and ${first} from key 0.`,
  },
  codeAfter: [
    'Compare two programs line by line. T5, ALiBi and KERPLE add one number to each score, and attention stays what it was. RoPE turns its inputs, and attention stays what it was, too. Shaw, M3 and M4 need a row for each pair of words inside the product itself; this is why fast kernels for plain attention do not serve them.',
  ],
  evidence: () => import('./evidence-en'),
};

export type Texts = Translated<typeof texts>;
