// Chapter: positions with several axes.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'A picture is cut into patches, and the patches are handed to the model one after the other, row by row. Number them 0, 1, 2 and so on, and RoPE sees a long line. The patch below is then a whole row away, and the end of one row touches the beginning of the next.',
    'The cure is simple: give the patch two positions, a row and a column, and let some pairs follow the one and some the other.',
  ],
  formula:
    'The score of chapter 6, summed over all pairs. $m$ and $n$ have a number for each axis now, and pair $i$ follows axis $a(i)$.',
  ask: {
    question:
      'Eight patches make a row, and they are numbered in one line. Which scores higher with the patch in row 3, column 3 (counted from 0): its neighbour below, or the first patch of the next row?',
    answers: [
      ['The neighbour below', 'In the image it is near. In one line it is a whole row away.'],
      ['The first patch of the next row'],
      ['Both alike', 'For that, both would have to be equally far along the line.'],
    ],
    explanation:
      'Only the count in the line matters. The neighbour below is eight steps away, the first patch of its row five, and so it scores a little higher. Choose a layout with two axes and look again.',
  },
  grid: {
    layout: 'Axes',
    layouts: { flat: 'One line', axial: 'Axial', vision: 'Qwen2-VL vision', pixtral: 'Pixtral' },
    patch: 'Query patch',
    base: 'Base',
    label: 'Score of one patch with every patch',
    score: 'Score / D',
    row: 'row',
    column: 'column',
    place: (row: string, column: string) => `row ${row}, column ${column}`,
    hint: 'Point at a patch, or walk with the arrow keys. Click or Enter makes it the query.',
    cell: (row: string, column: string, score: string) => `row ${row}, column ${column}: ${score}`,
    caption:
      'A picture of eight by eight patches, for a head of size 64. All patches hold the same vector, so only position makes a difference. The frame marks the patch whose query meets all keys. A base as small as 100 suits distances as short as these.',
    summary: (place: string, beside: string, below: string) =>
      `From ${place}: the neighbour beside it scores ${beside}, the one above or below ${below}.`,
  },
  layoutsProse: [
    'With two axes the map is alike along rows and columns, or nearly. The layouts differ in which pairs go to which axis. *Axial* and Qwen2-VL’s vision tower give each axis half of the coordinates and a full set of speeds. *Pixtral* deals one set out in turns, even frequencies to rows, odd ones to columns, so its two directions differ a little.',
    'Language models that see go one step further. Qwen2-VL’s *M-RoPE* ([Wang et al., 2024](https://arxiv.org/abs/2409.12191)) gives every token three numbers: time, row and column. A word has three equal ones, so for text nothing changes. The patches of a picture share their time and differ in row and column.',
  ],
  ids: {
    before: 'Words before',
    rows: 'Rows',
    columns: 'Columns',
    frames: 'Frames',
    idsTitle: 'Three positions for each token',
    pairsTitle: 'Which axis each pair of a head of size 64 follows',
    position: 'Position',
    axis: 'Axis',
    token: 'token',
    pair: 'pair',
    axes: ['time', 'row', 'column'],
    letters: ['t', 'r', 'c'],
    speeds: 'The fastest pair is on the left, the slowest on the right.',
    lettered: (letter: string, axis: string) => `${letter}: ${axis}`,
    layouts: ['sections', 'in turns'],
    cell: (token: string, isImage: boolean, axis: string, position: string) =>
      `token ${token} (${isImage ? 'picture' : 'word'}): ${axis} ${position}`,
    pairCell: (layout: string, pair: string, axis: string) => `${layout}: pair ${pair} follows ${axis}`,
    caption:
      'Above, the positions of a few words, a picture or video (framed) and three more words. Below, how the pairs are dealt out: in sections (Qwen2-VL), or in turns (Qwen3-VL), with half the pairs that their heads of 128 have.',
    summary: (length: string, image: string, next: string) =>
      `${length} tokens, ${image} of them ${image === '1' ? 'a patch' : 'patches'}. A word after the last one would stand at position ${next}.`,
  },
  after: [
    'Note where the text goes on: one after the largest position so far, and not after the number of tokens. A large picture takes up little room in the sequence of positions.',
    'In sections, time has the fast pairs, and rows and columns the slower ones. Qwen3-VL deals the pairs out in turns, so that each axis gets fast and slow ones.',
  ],
  pitfalls: [
    [
      'Starting the frequencies anew in each section.',
      'In M-RoPE the index of a pair counts through: the first pair of the row section goes on where time stopped. In an axial layout it does start anew. The two are not the same.',
      'Found side by side in Hugging Face’s `modeling_qwen2_vl.py`: `VisionRotaryEmbedding` starts anew, `apply_multimodal_rotary_pos_emb` goes on.',
    ],
    [
      'Giving sections in coordinates.',
      'A section of 16 is 16 pairs, that is, 32 coordinates. All sections together are half of the head.',
      'No text is known to say so. The code that settles it is `apply_multimodal_rotary_pos_emb`, which takes the list twice before it cuts coordinates.',
    ],
    [
      'Counting tokens to find the next position.',
      'While decoding with a cache the next word’s position is not the number of tokens so far. The difference has to be kept; Hugging Face calls it `rope_deltas`.',
      'Found in mlx-vlm, which lost the difference and wrote “This is is is is” ([#1527](https://github.com/Blaizzy/mlx-vlm/pull/1527)).',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
