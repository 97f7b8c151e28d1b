// Chapter: learned, absolute and relative.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'Why design waves at all? Give each position a row of numbers of its own and let training find them. BERT and GPT-2 do just that. A *learned* table can hold whatever helps, and for positions that were seen often enough it works well.',
    'Its weakness is plain. A table with 512 rows has nothing for position 512, and the rows near its end were seen in few texts. A table can be stretched after training. Su Jianlin ([2020](https://www.kexue.fm/archives/7947)) makes new rows out of the old ones. Each position is then a mix of two new rows, 0.4 of a coarse one and 0.6 of a fine one, and the old positions stay as they were.',
    'There are other ways than adding. One can *multiply* word and position number by number: this scales what the word has and adds nothing of its own. Or one can *append* the position to the word. The next matrix then has columns for the word and columns for the position, and adds their two products; so little is gained, and the vectors are wider. Adding makes no vector wider, and the next matrix can learn to tell the two apart.',
  ],
  learned: {
    at: 'Position',
    extend: 'Extend the table in two levels',
    label: 'The rows of a learned table',
    value: 'Value',
    number: 'number in the row',
    position: 'position',
    cell: (position: string, row: string, value: string) => `position ${position}, number ${row}: ${value}`,
    caption:
      'A learned table with sixteen positions, or forty when it is extended; each position is drawn as a column. Nobody trained this one; its numbers stand for any. The frame marks the position asked for.',
    has: (position: string) => `The table has a row for position ${position}.`,
    ends: (rows: string, position: string) =>
      `The table has ${rows} positions, from 0 on. For position ${position} it has nothing.`,
    mixed: (position: string, coarse: string, fine: string) =>
      `Extended, position ${position} is mixed from the new rows ${coarse} (coarse) and ${fine} (fine).`,
  },
  headTitle: 'Query, key, value, number by number',
  headProse: [
    'From here on, encodings reach into attention itself. So first, one head of it in numbers. Each word comes in as a vector $x$. Three matrices, the same for all words, make three shorter vectors of it: the *query* $q$, what the word asks; the *key* $k$, what it shows; the *value* $v$, what it gives. Training sets the three matrices.',
    'Then one word looks at all words. Its query times each key gives a row of scores, softmax turns them into weights that add up to one, and the values, each times its weight, add up to what comes out. Look at the two “the” in the figure. No position has entered, and they have the same numbers all the way.',
  ],
  headFormula: '$A_{ij}$ is the weight that word $i$ gives to word $j$; $o_i$ is what comes out for word $i$.',
  head: {
    sentence: 'the dog chased the cat',
    word: 'Word',
    titles: {
      words: '1. Words',
      matrices: '2. Three matrices',
      made: '3. Query, key and value of each word',
      row: (word: string) => `4. What “${word}” takes from each word`,
    },
    notes: {
      words: 'The same word is the same vector, wherever it stands.',
      matrices: 'Each row makes one number of q, k or v: its product with x.',
      made: 'Each word asks, shows and gives.',
      row: 'The last line adds up: the weights to one, the values to the output.',
    },
    sum: 'sum',
    out: 'What comes out',
    caption:
      'One head of attention with five words: vectors of four numbers, queries, keys and values of two. Blue: query. Orange: key. Teal: value. One word is marked all the way; point at another to see its share. The matrices are random.',
    summary: (word: string, other: string, weight: string, out: string) =>
      `“${word}” takes most from “${other}”, with the weight ${weight}. What comes out for it is (${out}).`,
  },
  shawTitle: 'A vector for each distance',
  shaw: [
    'Attention rarely needs “position 412”. It needs “two words back”. Shaw and colleagues ([2018](https://arxiv.org/abs/1803.02155)) gave a learned vector not to each position but to each *distance* from query to key, and added it to the key. (A second such vector is added to the value; we leave it out.)',
    'Distances are clipped. Beyond $k$ all of them share the outermost row: far is far. The table then has $2k + 1$ rows, from $−k$ to $k$, and fits a text of any length.',
  ],
  shawFormula: '$a_d$ is the learned vector of distance $d$; clip keeps $d$ between $−k$ and $k$.',
  ask: {
    question: 'With $k = 2$, which of these distances takes the same row as distance 3?',
    answers: [
      ['Distance 2, and also 5'],
      ['Distance −3', 'Clipping keeps the sign: before and after stay apart.'],
      ['None', 'Only distances shorter than $k$ have a row to themselves.'],
    ],
    explanation: 'Distances 2, 3, 4, 5 and all beyond share the last row, number 4. Distance −3 takes row 0.',
  },
  rows: {
    length: 'Words',
    k: 'Clipping distance k',
    sign: 'Distance is',
    signs: ['key − query', 'query − key'],
    label: 'Row of the table for each query and key',
    row: 'Row',
    query: 'query',
    key: 'key',
    cell: (q: string, k: string, d: string, row: string) => `query ${q}, key ${k}: distance ${d}, row ${row}`,
    clipped: (q: string, k: string, d: string, row: string) =>
      `query ${q}, key ${k}: distance ${d} is clipped and takes row ${row}`,
    caption:
      'The clipping matrix: which row of the table each query (row) takes for each key (column). Framed: distances that were clipped.',
    summary: (rows: string, used: string, unused: number) =>
      rows === '1'
        ? 'The table has a single row, which every distance takes.'
        : unused === 0
          ? `The table has ${rows} rows, and at this length all of them are used.`
          : `The table has ${rows} rows. At this length ${used} of them are used and ${unused} are not.`,
  },
  termsTitle: 'Four terms',
  terms: [
    'Add a position to a word, make query and key of the sum, and the score is a sum of four products: word with word, word with position, position with word, position with position.',
  ],
  termsFormula:
    '$q_i$ and $k_j$ are made of the words alone; $p_i$ and $r_j$ are what the same matrices make of the two positions.',
  huang: [
    'Absolute encodings have all four. Relative ones keep the first and give the others a form that knows the distance alone. Shaw keeps the second. T5 and ALiBi make a single number of the last.',
    'Huang and colleagues ([2020](https://arxiv.org/abs/2009.13658)) compare four methods. M4 puts the vector of the distance beside the query and beside the key, expands the product, and leaves out $a · a$. So a distance can call for a key, and a key can call for a distance. M3 has one term: it multiplies query, key and the vector of the distance number by number, so that a distance decides how much each number counts. The authors see in M4 a generalisation of the absolute encoding, and report better results on SQuAD 1.1 than with the encodings before it.',
  ],
  huangFormula: ['M4', 'M3'],
  huangNote: '$a_{ij}$ is the learned vector of the distance between query and key, $c$ counts its numbers.',
  split: {
    method: 'Method',
    methods: { shaw: 'Shaw', m4: 'M4', m3: 'M3' },
    seed: 'Random words, number',
    content: 'q · k',
    query: 'q · a',
    key: 'k · a',
    score: 'score',
    label: (part: string) => `${part} for each query and key`,
    legend: 'product',
    row: 'query',
    column: 'key',
    cell: (q: string, k: string, parts: string, score: string) => `query ${q}, key ${k}: ${parts}; score ${score}`,
    caption:
      'The terms of a score, before softmax, of twelve random words and a random table of distances. The maps before the last add up to it; with M3 there is one product and nothing to add. Purple is below zero, green above.',
    summary: (query: string, key: string) =>
      `Query with distance moves the scores by ${query}, key with distance by ${key} (root mean square).`,
    summaryOne: 'One product of three: no part of the score is free of the distance.',
  },
  biasTitle: 'A number for each distance',
  bias: [
    'A whole vector for each distance is a lot. T5 ([Raffel et al., 2019](https://arxiv.org/abs/1910.10683)) learns a single number per head and distance and adds it to the score. Near distances have a number each; farther ones share *buckets*, each wider than the one before by about the same factor.',
    'ALiBi ([Press et al., 2021](https://arxiv.org/abs/2108.12409)) learns nothing. It subtracts from each score the distance times a slope, and each head has a slope of its own. With eight heads they are $1/2$, $1/4$, … $1/256$: the first forgets within a few words, the last looks far.',
  ],
  biasFormula:
    '$b_h$ is the bias of head $h$. T5 looks it up by bucket, and leaves out the root; ALiBi computes $−slope · |j − i|$.',
  maps: {
    length: 'Words',
    head: 'Head of ALiBi, of 8',
    d: 'Words back',
    decoder: 'Decoder: look back only',
    shaw: 'Shaw: row, k = 4',
    t5: 'T5: bias of a head',
    alibi: (head: string) => `ALiBi: bias of head ${head}`,
    row: 'Row',
    bias: 'Bias',
    query: 'query',
    key: 'key',
    cell: (q: string, k: string, d: string, shaw: string, bucket: string, t5: string, alibi: string) =>
      `query ${q}, key ${k}, distance ${d}: Shaw’s row ${shaw}; T5’s bucket ${bucket}, bias ${t5}; ALiBi’s bias ${alibi}`,
    hidden: (q: string, k: string) => `query ${q} may not look at key ${k}, which comes later`,
    caption:
      'How three encodings see the same words. Shaw looks up a learned vector; the map shows its row. T5 adds a learned number for each bucket; the numbers here are not trained. ALiBi computes its number. The frame marks one distance: along it nothing changes.',
    summary: (d: string, shaw: string, bucket: string, t5: string, head: string, alibi: string) =>
      `${d} ${d === '1' ? 'word' : 'words'} back: Shaw takes row ${shaw}, T5 adds the ${t5} of bucket ${bucket}, and head ${head} of ALiBi adds ${alibi}.`,
  },
  after: [
    'All three maps are striped along the diagonal. That is what “relative” means: the same distance, the same treatment, wherever it occurs. Pull *words back* and watch the frame: Shaw stops telling distances apart after 4, T5 goes on with growing steps, ALiBi never stops.',
    'The price is that these encodings act on the matrix of scores, on every pair of words. A trick that turns each word once, by itself, and still leaves only the distance in the score would cost less, and would work where no such matrix is formed. That is the next chapter.',
  ],
  pitfalls: [
    [
      '“The table needs $2k − 1$ rows.”',
      'Clipped distances run from $−k$ to $k$, and zero is one of them: $2k + 1$. The count $2L − 1$ belongs to tables *without* clipping, for all distances in $L$ words, as in BERTs with relative positions.',
      'Found in a comment of a Chinese tutorial on absolute, relative and rotary encodings, section 2. The code below it makes $2k + 1$ rows.',
    ],
    [
      'Training on 512 words with $k = 512$ and trusting the row of “very far”.',
      'In 512 words the largest distance is 511. The rows ±512 are never used and keep their random start. Make $k$ as large as the length in the figure, and count the unused rows.',
      'Found in the same tutorial, in its example of clipping.',
    ],
    [
      'Mixing up the sign.',
      'Shaw counts key minus query, BERTs with relative positions query minus key. With the wrong sign the model reads the future for the past. Nothing crashes.',
      'Found in two libraries that differ: `RelativePositionEmbedding` of bert4keras, and `BertSelfAttention` of Hugging Face before version 5.',
    ],
    [
      '$q_i · k_j + q_i · a + k_i · a$',
      'In the fourth method of [Huang et al.](https://arxiv.org/abs/2009.13658) (`relative_key_query`) the last term belongs to the *key*: $k_j · a$. Expand $(q_i + a) · (k_j + a)$, leave out $a · a$, and it is plain to see.',
      'Found in the notes “Positional Embeddings” (in Chinese), formula 4.2.',
    ],
    [
      'Scaling T5’s scores.',
      'T5 does not divide by the root of $D$; the factor is in its weights. Divide, and the bias weighs too much.',
      'Found where T5 gets a ready-made kernel, which divides unless it is told not to: Hugging Face, [#46946](https://github.com/huggingface/transformers/pull/46946).',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
