// What each encoding can do, and what papers report.
import type { Translated } from '../../../i18n/texts';

export const texts = {
  resultsTitle: 'What each of them can do',
  resultsProse: [
    'The scorecard is full, and the lab has measured. Here both stand in one table. The small curves are means of three seeds, recorded with the models of chapter 11. The first three are shares of tokens that a small model names right, as it trains: the token before; the sequence backwards; and, with two layers, what follows when a sequence repeats. The last is the loss by position. The model was trained up to the dashed line, and the number is the mean loss beyond it.',
    'A dash means that nobody here has judged it. The text below the table gives reasons for the marks of encodings without a chapter.',
  ],
  results: {
    order: 'Sort by',
    orders: {
      reading: 'chapter',
      previous: 'token before',
      reverse: 'backwards',
      induction: 'repeats',
      length: 'beyond',
    },
    names: {
      binary: 'Binary',
      axial: 'Axial',
      xl: 'Transformer-XL',
      deberta: 'DeBERTa',
      fire: 'FIRE',
      sandwich: 'Sandwich',
      cope: 'CoPE',
      rope: 'RoPE',
      mixed: 'RoPE-Mixed',
      pope: 'PoPE',
    },
    measures: {
      previous: 'token before',
      reverse: 'backwards',
      induction: 'repeats',
      length: 'loss beyond',
    },
    used: 'used in',
    usedBy: {
      none: 'every fourth layer of SmolLM3 and Command R7B',
      binary: '–',
      sinusoidal: '[the first Transformer](https://arxiv.org/abs/1706.03762)',
      learned: '[BERT](https://arxiv.org/abs/1810.04805), GPT-2, OPT',
      axial: '[Reformer](https://arxiv.org/abs/2001.04451), Pix2Struct',
      shaw: '[translation, by its authors](https://arxiv.org/abs/1803.02155)',
      m3: '–',
      m4: '–',
      xl: '[Transformer-XL](https://arxiv.org/abs/1901.02860), XLNet',
      deberta: '[DeBERTa](https://arxiv.org/abs/2006.03654)',
      t5: '[T5](https://arxiv.org/abs/1910.10683)',
      alibi: '[BLOOM](https://arxiv.org/abs/2211.05100), MPT',
      kerple: '–',
      fire: '–',
      sandwich: '[language models, by its authors](https://arxiv.org/abs/2212.10356)',
      cope: '[language models, by its authors](https://arxiv.org/abs/2405.18719)',
      rope: '[RoFormer](https://arxiv.org/abs/2104.09864), LLaMA, Qwen, Mistral, Gemma',
      mixed: '[vision transformers, by its authors](https://arxiv.org/abs/2403.13298)',
      pope: '–',
    },
    label: 'Encodings: criteria, what small models do with them, who uses them',
    summary: (all: readonly string[]) => all.join(' '),
    best: (measure: string, names: readonly string[], value: string) =>
      `Best, ${measure}: ${names.join(', ')} (${value}).`,
    caption:
      'The encodings that the lab can train. Shares are of tokens named right at the end of training, 300 steps for the first two and 500 for the third; losses are in nats. The language itself leaves 0.93; a blind guess has 2.77.',
  },
  resultsAfter: [
    'No encoding is the best in every column. Binary, sinusoidal, learned and axial positions count from the beginning: they alone name a sequence backwards, and they fall off the cliff. Most others read on beyond the trained length. ALiBi, KERPLE, FIRE and Sandwich drop the sign of the distance, so at best they name the token before about half of the time. With two heads ALiBi has the slopes 1/16 and 1/256, too gentle to point at one token: it hardly learns what repeats. RoPE does well at what lies near, and fails beyond it as it stands; chapter 8 mends that. It is what most models use today, for it turns queries and keys and leaves the rest of attention, and its fast kernels, as they are.',
    'Nine rows have no chapter. For the two with grids, axial and RoPE-Mixed, the lab writes its sequences in rows of eight.',
  ],
  others: [
    'An axial position is the sum of a learned row and a learned column of a grid (Reformer appends the two): what a learned one is, with fewer numbers.',
    'Transformer-XL compares each query with a mapped sinusoidal vector of the distance. Each distance has one of its own, and one map leads from each to the next. The small model reads on at distances that it has not seen.',
    'DeBERTa learns a vector for each distance and maps it as words are mapped; distances beyond its table are one.',
    'Sandwich adds the product of two sinusoidal vectors. It learns nothing and falls with the distance, though some far distances share a value.',
    'CoPE lets each query decide by gates which words count. So two words may stand at one place, and the next place depends on the text. It reads on, but where nothing is hidden it counts to the end of the sequence, and cannot name the token before.',
    'RoPE-Mixed turns by row and by column, with learned frequencies: its marks are those of RoPE along each axis.',
    'KERPLE takes its bias from the logarithm of the distance, FIRE from a small network of the distance; both learn. In [PoPE](https://arxiv.org/abs/2509.10534) positions alone set the angles, and words only lengths.',
  ],
  publishedTitle: 'What papers report',
  publishedProse: [
    'No page can run the experiments that show what a large model gains from an encoding. Here are the results of two papers, and what speaks against reading too much into them.',
  ],
  published: {
    models: {
      caption: 'RoFormer and other models of Chinese',
      corner: 'model',
      columns: ['reads', 'positions'],
      rows: { characters: 'characters', words: 'words', absolute: 'absolute', relative: 'relative' },
      note: 'RoFormer is WoBERT with RoPE. In the next table each name is followed by the number of tokens that the model reads. ([RoFormer, table 3](https://arxiv.org/abs/2104.09864).)',
    },
    law: {
      caption: 'Which of two law cases is the more similar one? Accuracy in percent (CAIL2019-SCM)',
      corner: 'model',
      columns: ['validation', 'test'],
      rows: {},
      note: 'With 512 tokens RoFormer and WoBERT are level. With 1,024 RoFormer gains 1.50 points on the test set, and only RoFormer was given that many. ([RoFormer, table 5](https://arxiv.org/abs/2104.09864); [Su, 2021](https://www.kexue.fm/archives/8265).)',
    },
    stages: {
      caption: 'RoFormer’s pre-training in Chinese, by stage',
      corner: 'stage',
      columns: ['tokens', 'batch', 'steps, thousands', 'loss', 'accuracy, %'],
      rows: {},
      note: 'Longer texts end in higher accuracy. More context helps to guess a hidden word, though, and no other encoding was trained this way to compare with. ([RoFormer, table 4](https://arxiv.org/abs/2104.09864).)',
    },
    glue: {
      caption: 'English tasks (GLUE)',
      corner: 'model',
      columns: ['MRPC', 'SST‑2', 'QNLI', 'STS‑B', 'QQP', 'MNLI‑m', 'MNLI‑mm'],
      rows: {},
      note: 'F1 for MRPC and QQP, Spearman’s correlation for STS-B, accuracy elsewhere. RoFormer is ahead in three of the six tasks and behind in three. Its row is from validation sets; the row of BERT is the one that BERT’s paper reports for test sets ([Devlin et al., 2018](https://arxiv.org/abs/1810.04805)). So the 15 points of QQP say little about positions. In translation from English to German RoFormer has a BLEU of 27.5, the first Transformer 27.3. ([RoFormer, tables 1 and 2](https://arxiv.org/abs/2104.09864).)',
    },
    lengths: {
      caption: 'Perplexity on WikiText-103; lower is better',
      corner: 'encoding',
      columns: ['trained on', 'reads', 'perplexity'],
      rows: { sinusoidal: 'Sinusoidal', alibi: 'ALiBi', short: 'ALiBi', long: 'ALiBi' },
      note: 'Trained on 512 tokens, ALiBi reads 3,072 better than the sinusoidal model that was trained on 3,072, and its training is 1.84 times as fast. Its authors find that much of this comes from the first tokens of each piece, which get more context when pieces are longer. ([Press et al., section 4.1, appendix B](https://arxiv.org/abs/2108.12409).)',
    },
  },
};

export type EvidenceTexts = Translated<typeof texts>;
