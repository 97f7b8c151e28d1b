// Chapter: longer contexts.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'A model is trained on texts of some length, say 2,048 tokens. Then someone hands it 16,384. RoPE has an angle for every position, so nothing breaks in the arithmetic. The model often breaks all the same. Why?',
    'Look at each pair as a hand of a clock. Fast hands made hundreds of turns in training; every angle they can show is familiar. Slow hands never came round. Over the longer text they enter a part of the dial where the model has never seen them.',
  ],
  ask: {
    question: 'Which pairs show angles in the longer text that never occurred in training?',
    answers: [
      [
        'The fast ones, with small index',
        'They turn the most, and for that very reason have been everywhere on the circle.',
      ],
      ['The slow ones, with large index'],
      ['All of them', 'Each turns further than before; but cosine and sine forget whole turns.'],
    ],
    explanation:
      'A pair that makes a whole turn within the training length has shown all of its angles. Only pairs with wavelengths longer than the training length can meet new ones.',
  },
  waves: {
    method: 'Method',
    methods: {
      none: 'None',
      linear: 'PI',
      ntk: 'NTK',
      yarn: 'YaRN',
      longrope: 'LongRoPE',
      llama3: 'Llama 3',
    },
    about: {
      none: 'The frequencies stay as they were trained.',
      linear:
        'Position interpolation: every frequency is divided by the factor, $ω_i / s$. Nothing is new, but fast pairs lose their sharpness.',
      ntk: 'NTK-aware: the base $b$ is raised to $b · s^{D/(D−2)}$, so that the slowest pair is stretched by the factor $s$ and the fastest not at all.',
      yarn: 'YaRN: pairs with more than 32 turns in training stay, those with less than one are divided by the factor $s$, with a ramp between. cos and sin are multiplied by $0.1 · ln s + 1$, which makes scores a little larger, as long texts need.',
      longrope:
        'LongRoPE: each pair has a divisor of its own, found by a search. Those here are made up: they grow from 1 for the fastest pair to the factor for the first that never came round; cos and sin are multiplied by a factor, too.',
      llama3:
        'Llama 3: as YaRN, by wavelength: below a quarter of the training length $ω_i$ is kept, above the whole of it $ω_i / s$, with a blend between.',
    },
    length: 'Training length',
    factor: 'Times as long now',
    base: 'Base',
    label: 'Wavelength of each pair',
    pairIndex: 'pair',
    wavelength: 'positions per turn',
    trained: 'as trained',
    trainedLength: 'training length',
    target: 'length now',
    now: 'now',
    dials: 'Turns of every second pair within the longer text',
    seen: 'angles seen in training',
    unseen: 'new angles',
    pair: (i: string) => `pair ${i}`,
    spoken: (i: string, seen: string, used: string, isNew: boolean) =>
      `Pair ${i}: ${seen} turns in training, ${used} now${isNew ? ', some of the angles are new' : ''}`,
    caption:
      'A head of size 64. Above, how many positions each pair takes for a turn. Below, every second pair as a dial with the number of its turns, counted from the right, counterclockwise; an exclamation mark warns of new angles.',
    summary: (complete: string, pairs: string, fresh: string, degrees: string, target: string, factor: string) =>
      `${complete} of ${pairs} pairs made a whole turn in training. At ${target} tokens ${fresh === '0' ? 'no pair shows' : fresh === '1' ? '1 pair shows' : `${fresh} pairs show`} new angles${fresh === '0' ? '' : `, up to ${degrees}° of them`}.${factor === '' ? '' : ` cos and sin are multiplied by ${factor}.`}`,
  },
  methodsProse: [
    'Every method answers the same question: how far is each pair slowed down? Switch through them and watch the dots. Position interpolation ([Chen et al., 2023](https://arxiv.org/abs/2306.15595)) moves all of them by the same step. The others leave the fastest pairs alone, or nearly, because those tell neighbouring words apart, and slow the rest as needed.',
    'NTK-aware scaling slows only the very last pair by the whole factor; the other slow pairs still show some new angles, though far fewer. That is often good enough without any more training, the more so with a factor above the one that is needed. YaRN ([Peng et al., 2023](https://arxiv.org/abs/2309.00071)), LongRoPE ([Ding et al., 2024](https://arxiv.org/abs/2402.13753)) and [Llama 3](https://arxiv.org/abs/2407.21783) avoid them altogether, since they look at turns or at the model itself, not at indices. None of these comes for free; all work best after a little more training.',
  ],
  methodsFormula: ['PI', 'NTK', 'YaRN, Llama 3', 'LongRoPE'],
  methodsNote:
    '$s$ is the factor. $γ_i$ is 1 for pairs with many turns in training and 0 for those with few; $λ_i$ is the divisor that the search found.',
  after: ['A long text meets a second limit: angles round. The appendix is about it.'],
  pitfalls: [
    [
      '“RoPE extrapolates well to longer texts.”',
      'Without one of these methods it does not. Beyond the trained length the slow pairs reach angles that the model has never seen. RoPE has a formula for every position, and that is another thing.',
      'Found in [Su’s article on RoPE](https://www.kexue.fm/archives/8265), below the table of its pre-training, and in the blog post “Position Embedding” (in Chinese), section 4.',
    ],
    [
      'Giving YaRN the length that you want in place of the length that was trained.',
      'The ramp is placed by turns within the *original* length. With the extended one, pairs that need slowing are left alone.',
      'Found in NVIDIA’s NeMo, whose settings for GPT-OSS had 131,072 for 4,096 ([#14686](https://github.com/NVIDIA-NeMo/Speech/issues/14686)).',
    ],
    [
      'Forgetting what YaRN’s factor does to scores.',
      'It multiplies cos and sin of queries and of keys, so scores get its square. And rotating cached keys once more with the same tables would multiply it in again.',
      'A case that llama.cpp has to see to: `build_rope_shift` adjusts the factor before it turns cached keys ([#17945](https://github.com/ggml-org/llama.cpp/pull/17945)).',
    ],
    [
      'Changing frequencies in the middle of a text.',
      'Dynamic NTK raises the base as the text grows, and LongRoPE switches its list at the original length. Keys already in the cache were turned by the old frequencies. They must be turned again, or kept unturned.',
      'Found in Hugging Face’s LLaMA ([#25104](https://github.com/huggingface/transformers/issues/25104)).',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
