// The page in English, and by its type what every other language has to say. In prose *...* is emphasis, `...` code
// and $...$ a variable.
import type { EncodingName } from '../pictures/encodings';

const encodingTexts: Record<EncodingName, string> = {
  none: 'None',
  sinusoidal: 'Sinusoidal',
  rope: 'RoPE',
};

const times = (n: number): string => (n === 2 ? 'twice' : `${n} times`);

export const en = {
  page: {
    // The title, word by word; joined they are all of it.
    title: ['How ', 'attention ', 'knows ', 'where ', 'a ', 'word ', 'stands'],
    needles:
      'A row for each word of the title, a needle for each pair of coordinates: all start level at the first word and turn as the words go by, the leftmost fastest. Where the needles point tells the place.',
    lede: 'Position encodings, explained with pictures that you can take hold of. Type, drag and turn: whatever you see is computed as you read, by the same code that the ropewalk package ships.',
    contents: 'Chapters',
    skip: 'Skip to the text',
    languageName: 'English',
    themeIs: (theme: 'auto' | 'light' | 'dark') => `Theme: ${theme}`,
    build: (version: string, simd: string) =>
      `Computed on your device by ropewalk ${version} (WebAssembly, ${simd}). Nothing is sent anywhere, and the address of this page holds all that you set: copy it, and you have copied the picture.`,
    console: 'In the developer console of this page the package is at hand as `rw`.',
    failed: 'The pictures on this page need WebAssembly with SIMD, and this browser did not run it. It said:',
  },
  figure: {
    label: 'Figure',
    copyLink: 'Copy link',
    reset: 'Reset',
    table: 'View as table',
    picture: 'View as picture',
    code: 'The call that made this picture',
    copyCode: 'Copy code',
    copied: 'Copied',
    copyFailed: 'Selected; press Ctrl+C',
    predict: 'Predict, then look',
    right: 'Yes.',
    wrong: 'Not so.',
  },
  encodings: encodingTexts,
  attention: {
    title: 'Attention alone sees no order',
    prose: [
      'An attention layer lets every word look at every other. Each word asks a question, its *query*, and shows a label, its *key*. The better a label answers the question, the more is taken of what stands behind it, its *value*. How much is taken of each makes a row of numbers that add up to one. Those rows are what the figure shows, one square for each *attention head*.',
      'Nowhere in this recipe is it said where a word stands. Without a *position encoding* a sentence is a bag of words: two copies of a word get the same row, and shuffled words give the same picture with rows and columns in another order. The name for that is *equivariance*: the output is shuffled exactly as the input was, and nothing else happens.',
      'A position encoding ends this. The sinusoidal one adds to each word a pattern of waves that depends on its place; the rotary one, RoPE, turns queries and keys by angles that grow with the place. The words in the figure really go through an attention layer. Its weights are random, from a fixed seed, and nobody has trained it, so do not search it for grammar. Watch what changes and what does not.',
    ],
    formula: 'Row $i$ of $A$ holds what word $i$ takes from every word $j$; $D$ is the size of a head.',
    question: 'The encoding is set to None. Press *Shuffle words*: what becomes of the row of “cat”?',
    answers: [
      'It stays where it is, with the same numbers.',
      'It moves with the word; its numbers are the same, in another order.',
      'All of its numbers change.',
    ],
    explanation:
      'The row goes where “cat” goes, and its numbers are reordered as the words were. Now choose RoPE or Sinusoidal and shuffle again: other places, other numbers.',
    sentence: 'the dog chased the cat and the cat ran',
    sentenceLabel: 'Sentence',
    encoding: 'Position encoding',
    heads: 'Heads',
    causal: 'Causal: look back only',
    shuffle: 'Shuffle words',
    caption:
      'Attention weights of a small layer: which word (row) looks at which (column). Equal words enter it as equal vectors.',
    head: (head: string) => `Head ${head}`,
    plot: (head: string) => `Attention weights of head ${head}; arrow keys move from cell to cell`,
    legend: 'Weight',
    masked: 'may not look',
    word: (word: string) => `“${word}”`,
    wordAt: (word: string, position: string) => `“${word}” (position ${position})`,
    looks: (head: string, from: string, to: string, weight: string) =>
      `head ${head}: ${from} looks at ${to} with ${weight}`,
    hidden: (head: string, from: string, to: string) =>
      `head ${head}: ${from} may not look at ${to}, which comes later`,
    hint: 'Point at a cell or touch it, or go to a square with Tab and use the arrow keys.',
    empty: 'Type a word or two.',
    tooMany: (used: string, all: string) => `The picture shows the first ${used} of ${all} words.`,
    single: 'A single word can only look at itself.',
    rowsEqual: (word: string, n: number) => `“${word}” stands here ${times(n)}, and its rows are equal.`,
    rowsDiffer: (word: string, n: number, spread: string) =>
      `“${word}” stands here ${times(n)}, and its rows differ by up to ${spread}.`,
    noRepeat: 'No word stands here twice. Repeat one, and compare its rows.',
    causalLeaks:
      'With the causal mask a word sees only itself and what came before: so the mask alone already tells early from late.',
    tableCaption: (head: string) => `Head ${head}: rows look at columns`,
    tableCorner: 'looks at',
  },
  rotation: {
    title: 'Turning keeps only the distance',
    prose: [
      'RoPE takes the coordinates of a query or a key two at a time and reads each pair as an arrow in the plane. For a word at position $m$ the arrow is turned by the angle $mω$; its length stays. Each pair has its own frequency $ω$. Pair 0 is the fastest, with one radian per position, and each further pair is slower than the one before; the last of a head of 64 needs more than 47,000 positions for one turn.',
      'The score of a query and a key is their dot product: it asks how far two arrows point the same way. Turn the query by $mω$ and the key by $nω$, and the angle between them has changed by $(m − n)ω$, whatever $m$ and $n$ are by themselves. So the score learns how far apart two words are, and it cannot learn where they are. Each arrow knows its own position only; their product knows the distance.',
    ],
    formula:
      '$φ$ is the angle from key to query before either is turned; $R$ with an index is the turn by that many positions.',
    question:
      'Tick *Lock the distance* and move a slider: both words walk along the sentence together. What does the score do?',
    answers: ['It grows as they walk on.', 'It swings up and down.', 'It stays as it is.'],
    explanation:
      'Both arrows turn by the same angle, as if glued together, and the dot product does not notice. What you may see in the far digits is the rounding of 32-bit numbers.',
    query: 'query',
    key: 'key',
    position: (name: string, symbol: string) => `Position ${symbol} of the ${name}`,
    positionValue: (position: string) => `position ${position}`,
    lock: 'Lock the distance m − n',
    pair: 'Pair of coordinates',
    pairValue: (pair: string, frequency: string, wavelength: string) =>
      `pair ${pair}, frequency ${frequency} radians per position, a full turn every ${wavelength} positions`,
    pairNote: (frequency: string, wavelength: string) =>
      `ω = ${frequency} rad per position, one turn in ${wavelength} positions`,
    plane: 'Query and key as arrows in the plane, before and after turning',
    handle: (name: string) => `Arrow of the ${name}: left and right turn it, up and down change its length`,
    handleValue: (angle: string, length: string) => `angle ${angle} degrees, length ${length}`,
    score: 'Score',
    distance: (distance: string) => `distance m − n = ${distance}`,
    drift: (drift: string) => `Since you locked it, the score has moved by at most ${drift}.`,
    vector: 'Arrow',
    before: 'As set',
    after: 'Turned',
    curve: 'The score at every distance, for these arrows and this pair',
    curveX: 'distance m − n',
    curveY: 'score',
    caption:
      'One pair of coordinates of a head of size 64. Dashed: query and key as you set them (drag the rings). Solid: turned to their positions.',
    summary: (m: string, n: string, score: string) => `Query at position ${m}, key at position ${n}: score ${score}.`,
    tableCaption: 'Score by distance',
  },
};
