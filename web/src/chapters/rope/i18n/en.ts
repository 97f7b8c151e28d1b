// Chapter: RoPE.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'So far something was *added*: a position to the word, or a distance to the key or the score. Su Jianlin asked for something else ([RoFormer, 2021](https://arxiv.org/abs/2104.09864)): let each query and each key be changed once, by its own position, so that their product knows only how far apart they are. Absolute work, relative result.',
    'One more assumption leaves hardly any freedom. Four small steps lead to the answer.',
  ],
  complexTitle: 'Arrows that multiply',
  complex: [
    'The steps speak of complex numbers, so here they are in a minute. A complex number is an arrow in the plane: two coordinates, or a length and an angle. To multiply two of them, multiply the lengths and add the angles. The *conjugate*, with a star, has the opposite angle; so a number times the conjugate of another has the difference of their angles.',
    'An arrow of length 1 does nothing but turn what it is multiplied with. Euler’s formula writes it as a power, since angles add up as exponents do. In the figure it turns another number $z$.',
  ],
  eulerFormula:
    'The arrow of length 1 at the angle $φ$. Let $φ$ grow in step with the position, and it turns like the hand of a clock.',
  arrows: {
    m: 'Position m',
    star: 'Conjugate z',
    label: 'The arrow u of length 1, another number z, and their product',
    caption:
      'Blue: u, which is e to the power iφ. Its shadow on the axis is cos φ, its height sin φ. Orange: another number z. Teal: their product. One turn takes 19.9 positions.',
    summary: (angle: string, unit: string, z: string, own: string, product: string) =>
      `φ = ${angle}°, u = ${unit}. ${z} is at ${own}°, the product at ${product}°; it is as long as ${z}.`,
  },
  stepsTitle: 'From the wish to the turn',
  steps: [
    '*One: the wish.* We look for a function $f$ that puts position $m$ into a query and $n$ into a key. Their product may depend on the difference of the two positions alone. Position 0 changes nothing.',
    '*Two: complex numbers.* Take two coordinates at a time and read them as one complex number. The dot product of two such pairs is then the real part of the one times the conjugate of the other. (Forget the conjugate, and the sum of the angles comes out in place of the difference.) The derivation now assumes more than the wish says: the whole product, and not its real part alone, is a function $g$ of the difference. [Su’s article](https://www.kexue.fm/archives/8265) says that it assumes this to keep things simple. The result fulfils the wish.',
    '*Three: lengths and angles.* Put $m = n$ into the last line: the difference is 0, as it is at position 0, so lengths cannot depend on the position. The angle between any query and any key stays as well, so both gain the same $φ$, whatever the vector is. Put $n = m − 1$: from each position to the next, $φ$ grows by the same amount. Call it $ω$.',
    '*Four: the answer.* A position turns the pair by $mω$. In real numbers that is a rotation matrix. For more than two coordinates, put pairs side by side, each with its own $ω_i$; the usual choice is that of the sinusoidal encoding, base to the power of $−2i/D$.',
  ],
  derivation: {
    back: 'Step back',
    next: 'Step',
    place: (step: string, steps: string) => `step ${step} of ${steps}`,
    m: 'Position m of the query',
    n: 'Position n of the key',
    label: 'Query, key and their product as arrows in the complex plane',
    steps: [
      [
        'The wish',
        'The product of query and key depends on the difference of the two positions alone. Position 0 changes neither.',
      ],
      [
        'One complex number for two coordinates',
        'The teal arrow is the query times the conjugate of the key. The lengths multiply; the angle is the one from key to query. Its shadow on the axis, the real part, is the dot product.',
      ],
      [
        'The assumption',
        'The wish speaks of the shadow, the first line. The dashed arrow below the axis has the same shadow. The derivation asks for more, the second line: the whole arrow, $g$, depends on the difference alone. The wish alone leaves other answers: a mirror that flips every arrow at each odd position grants it, too.',
      ],
      [
        'Lengths stay',
        'Put $m = n$, and the query in place of the key. The product is the one at position 0, so its length is. Each tip stays on its circle.',
      ],
      [
        'All turn by the same angle',
        'Put $m = n$ once more: the angle between query and key is the one they had. So both have turned by the same $φ$. It depends on the position and on no vector.',
      ],
      [
        'The same angle at each step',
        'Put $n = m − 1$. The distance is 1, so the middle of the line is the same wherever the two words stand. $φ$ grows by the same $ω$ from each position to the next.',
      ],
      [
        'The answer',
        'Position $m$ turns the query by $mω$, position $n$ the key by $nω$. The teal arrow turns by $(m − n)ω$: move both by the same amount, and it stays.',
      ],
    ],
    summary: (step: string, title: string, score: string) => `Step ${step}, ${title}. The dot product is ${score}.`,
    atDistance: (distance: string, score: string) => `At distance ${distance} the dot product is ${score}.`,
    caption:
      'The derivation, one step at a time. Blue: the query. Orange: the key. Teal: their product. One turn of this pair takes 19.9 positions.',
    table: 'The arrows of the last step',
    arrow: 'arrow',
    columns: ['real part', 'imaginary part'],
    rows: {
      query: 'q',
      key: 'k',
      product: 'q k*',
      turnedQuery: 'f(q, m)',
      turnedKey: 'f(k, n)',
      turnedProduct: 'f(q, m) f(k, n)*',
    },
  },
  pairTitle: 'One pair, in the plane',
  pairProse: [
    'Here is one pair as an arrow in the plane. For a word at position $m$ the arrow is turned by the angle $mω$; its length stays. Turn the query by $mω$ and the key by $nω$, and the angle between them has changed by $(m − n)ω$, whatever $m$ and $n$ are by themselves.',
  ],
  scoreFormula:
    '$α$ is the angle from key to query before either is turned; $R$ with an index is the turn by that many positions.',
  ask: {
    question:
      'Tick *Lock the distance* and move a slider: both words walk along the sentence together. What does the score do?',
    answers: [
      [
        'It grows as they walk on.',
        'A turn keeps the length, and the angle between the two stays: there is nothing to grow.',
      ],
      ['It swings up and down.', 'So it does while one of them walks alone, since the angle between them changes.'],
      ['It stays as it is.'],
    ],
    explanation:
      'Both arrows turn by the same angle, as if glued together, and the dot product does not notice. What you may see in the far digits is the rounding of 32-bit numbers.',
  },
  pair: {
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
    table: 'Score by distance',
  },
  sumTitle: 'Direction regained',
  sumProse: [
    'Chapter 4 lost something: the dot product of two rows of waves tells how far, and not in which direction. There both rows had the same hands, so $α$ was 0 in every pair, and a cosine does not mind the sign of its angle. Here $α$ is the angle between a query and a key, and the matrices of the model set it. With $α$ other than 0 the curve above has its peak to one side: “seven before” and “seven after” score differently. The distance of RoPE has a sign.',
    'A head has many pairs, and the score is the sum of what each of them says. Each adds a wave of its own speed, height and $α$.',
  ],
  sumFormula:
    '$α_i$ is the angle from key to query in pair $i$. The first thing that training can choose is these angles and lengths; the speeds are given.',
  sum: {
    d: 'Distance m − n',
    seed: 'Query and key number',
    distance: 'distance m − n',
    pair: (i: string) => `pair ${i}`,
    all: 'score',
    label: 'What each pair adds to the score, by distance',
    y: 'score',
    caption:
      'A random query and key of a head of size 6: three waves, and their sum as dots on stems. The upright line is the distance that is chosen.',
    summary: (d: string, parts: string, score: string, opposite: string, other: string) =>
      `At distance ${d}: ${parts} ≈ ${score}. At distance ${opposite} it is ${other}.`,
  },
  sumAfter: [
    'This is all of RoPE: each query and each key is turned once, by itself, and their score knows how far apart the two words are and which comes first.',
  ],
  clocksTitle: 'All pairs at once',
  clocksProse: [
    'A head has many pairs, and each turns at its own speed. Below, the query’s hand and the key’s hand of every pair start together and turn to their positions. The number is the angle between them.',
    'Move the key: every hand turns, and no angle changes. Change the distance: now all angles change, those of the fast pairs by much and those of the slow ones by little. Fast pairs tell neighbours apart. That slow ones tell paragraphs apart is often said, and *contested*: in a trained model the fastest pairs were found to make the heads that look at positions, and the slowest to carry content, which they hardly turn ([Barbero et al., 2024](https://arxiv.org/abs/2410.06205)).',
  ],
  clocks: {
    n: 'Position n of the key',
    d: 'Distance m − n',
    label: 'The pairs of a query and a key as clocks',
    pair: (i: string) => `pair ${i}`,
    spoken: (i: string, wavelength: string, degrees: string) =>
      `Pair ${i}, a turn in ${wavelength} positions: ${degrees} degrees between key and query`,
    caption:
      'The sixteen pairs of a head of size 32. Solid: query. Dashed: key. Angles count from the right, counterclockwise. Below each clock, the angle from key to query in degrees.',
    summary: (m: string, n: string, d: string, degrees: string) =>
      `Query at ${m}, key at ${n}, distance ${d}: the fastest pair stands at ${degrees} degrees.`,
    corner: 'pair',
    queryHand: 'Hands of the query',
    keyHand: 'Hands of the key',
    between: 'The turn between them',
  },
  workedTitle: 'By hand',
  workedProse: [
    'Nobody multiplies by the whole rotation matrix: nearly all of it is zeros. Each number is multiplied by its cosine; its partner, with a minus where the matrix has one, is multiplied by the sine; and the two are added.',
    'The table does this for the query $(1, 2, 3, 4)$ at position 2. Two pairs, two frequencies: 1 and 0.01. Read each column from top to bottom.',
  ],
  efficientFormula: '⊙ multiplies number by number.',
  worked: {
    m: 'Position m',
    coordinate: 'coordinate',
    q: 'query',
    angle: 'angle mω',
    partner: 'partner',
    turned: 'turned',
    table: (m: string) => `RoPE of (1, 2, 3, 4) at position ${m}`,
    caption: 'Number by number: turned = query\u00a0×\u00a0cos + partner\u00a0×\u00a0sin.',
    summary: (slow: string, first: string) => `Frequencies 1 and ${slow}. First number: ${first}.`,
  },
  layoutTitle: 'Which two numbers form a pair?',
  layoutProse: [
    'The mathematics only says: take the coordinates in pairs. It does not say which two. RoFormer and Meta’s LLaMA pair neighbours, 0 with 1, 2 with 3. GPT-NeoX and the Hugging Face LLaMA pair each number of the first half with one of the second.',
    'The results are equally good: one is the other with the coordinates in another order. But weights were trained for one of them. Load them into the other without reordering, and the model writes nonsense.',
  ],
  askLayout: {
    question: 'You test your code at position 0, with both pairings. How do the results differ?',
    answers: [
      [
        'In half of the coordinates',
        'The two pairings give every coordinate another partner. Away from 0 it is more than half.',
      ],
      ['In all of them', 'At nearly every other position, yes.'],
      ['Not at all'],
    ],
    explanation:
      'At position 0 nothing is turned, so any pairing passes. That is why this mistake survives so many tests. Move the slider: a test needs a position well away from 0.',
  },
  layout: {
    at: 'Position',
    interleaved: 'Interleaved: 0 with 1, 2 with 3',
    interleavedNote: 'The numbers 1 to 8, turned. Each colour is one pair.',
    half: 'Halves: 0 with 4, 1 with 5',
    halfNote: 'The same numbers put in this order first, then turned: each pair gives the same two numbers.',
    mixed: 'Mixed up: interleaved numbers, turned in halves',
    mixedSame: 'At this position the mistake does not show.',
    mixedNote: (by: string) => `Wrong by up to ${by}.`,
    number: 'turned',
    caption: 'Eight numbers of a head in memory after the turn. An arc joins the two numbers of a pair.',
    sameAtZero: 'All three hold the numbers that went in: position 0 turns nothing.',
    differ: (position: string, by: string) =>
      `At position ${position} the two layouts agree pair by pair; mixed up, some number is off by ${by}.`,
  },
  waysTitle: 'One turn, written three ways',
  waysProse: [
    'This turn is written in three ways, and you will meet all of them. Papers print the *matrix*: a block for each pair along the diagonal, zeros everywhere else. Model code in Python has the *efficient form*: the vector times the cosines, plus its partners, `rotate_half(x)`, times the sines. Kernels, those of this page too, have the *loop over pairs*: read two numbers, turn them, write two numbers.',
    'The figure writes out all three. Point at a number, and the figure marks all that belongs to its pair. Each form computes the same four products.',
  ],
  waysFormula: 'What the loop does with the pair $(x, y)$ number $i$.',
  ways: {
    m: 'Position m',
    pairing: 'Pairs',
    pairings: { interleaved: 'interleaved', half: 'halves' },
    pair: 'Marked pair',
    matrix: 'Matrix times vector',
    matrixNote: (all: string, zeros: string) => `${all} multiplications, ${zeros} of them by zero.`,
    efficient: 'Efficient form',
    efficientNote: (all: string) => `${all} multiplications, two for each number.`,
    loop: 'Loop over pairs',
    loopNote: (all: string, pairs: string) => `${all} multiplications, four for each of ${pairs} pairs.`,
    partner: 'partner',
    products: 'products',
    turned: 'turned',
    coordinate: 'coordinate',
    matrixTable: 'The matrix',
    formsTable: 'What each form gives',
    caption:
      'The numbers 1 to 8 as one head, turned to position m, with base 100. Rows are coordinates, and each colour is a pair.',
    summary: (pair: string, [a, b]: readonly string[], [before, after]: readonly string[], apart: string) =>
      `Pair ${pair}, coordinates ${a} and ${b}: ${before} becomes ${after}. No number of the three forms differs by more than ${apart} from what plan.rotate of the package gives.`,
  },
  brokenTitle: 'A mistake worth looking at',
  brokenProse: [
    'Code like this stands in a Chinese tutorial on absolute, relative and rotary encodings, section 3. It builds the table of angles as one pairing needs it, all frequencies and then all of them once more, and reads it as the other pairing does, every second entry. Each line looks right by itself.',
    'What comes out is no rotation. The two numbers of a pair are turned by different angles. Walk query and key along the sentence, at the same distance: a rotation keeps the score, and this does not.',
  ],
  broken: {
    d: 'Distance m − n',
    walk: 'Both moved on by',
    places: 'positions moved on',
    wrong: 'Mixed up',
    right: 'Right',
    score: 'score',
    label: 'Score of a query and a key that walk on together',
    caption:
      'The same query and key, at the same distance, further and further along the sentence. The mixed-up code gives another score at every place.',
    summary: (walk: string, right0: string, right: string, wrong0: string, wrong: string) =>
      `Moved on by ${walk}: the right score goes from ${right0} to ${right}, the mixed-up one from ${wrong0} to ${wrong}.`,
  },
  pitfalls: [
    [
      'Partners written as $(t_1, t_0, t_2, t_1, …)$',
      'A slip of the index in the efficient form. Pairs do not overlap: $(−t_1, t_0, −t_3, t_2, …)$. In the table above the partners are −2, 1, −4, 3.',
      'Found in the notes “Positional Embeddings” (in Chinese), formula 5.7; [Su, 2021](https://www.kexue.fm/archives/8265) has it right in formula 13.',
    ],
    [
      'Rounding on the way.',
      'The first number of the example is then −2.234. The exact value is −2.2347…, which rounds to −2.235; the cosine and sine had been cut to three digits first.',
      'Found in the blog post “Position Embedding” (in Chinese), section 3.4.',
    ],
    [
      'Reordering more than queries and keys.',
      'To bring weights from one pairing to the other, reorder the rows of the query and key projections, their biases, and the weights of a norm on queries and keys. Never those of values or of the output.',
      'Found as a question in lmdeploy, [#2639](https://github.com/InternLM/lmdeploy/issues/2639): why not the values? `permute` of Hugging Face’s `convert_llama_weights_to_hf.py` does it right.',
    ],
    [
      'Two things called $θ$.',
      'Papers write $θ_i$ for the frequency of a pair, which is $ω_i$ here. In a model’s config `rope_theta` is the base, 10,000 or more.',
      'Found in [RoFormer](https://arxiv.org/abs/2104.09864) and in Hugging Face’s `LlamaConfig`.',
    ],
    [
      '“$ω$ is a period here and an angle there.”',
      'It is an angular frequency in both encodings: radians per position. The sinusoidal encoding writes the hand down; RoPE turns a pair of the query, or of the key, by the same angle.',
      'Found in “Positional Embeddings”, section 5.2.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
