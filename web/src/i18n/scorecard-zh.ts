// 记分卡。
import type { ScorecardTexts } from './scorecard-en';

export const texts: ScorecardTexts = {
  title: '到这里为止的记分卡',
  criteria: ['唯一', '近的像', '能组合', '能变长'],
  marks: { yes: '是', partly: '部分', no: '否' },
  rows: {
    binary: ['二进制', '相邻的位置可能每一位都不同；没有一个矩阵能往前走一步；位数用完就到头。'],
    sinusoidal: ['正弦', '每个位置都有一行；超出训练长度的，模型没有见过。'],
    learned: ['可学习', '训练成什么样就是什么样，表到头就到头。'],
    shaw: ['Shaw', '直接知道距离；超过 $k$ 的都算一样远。'],
    t5: ['T5', '直接知道距离；远的合用桶。'],
    alibi: [
      'ALiBi',
      '知道距离，不分前后。用 1,024 个词元训练，读 2,048 个词元和用 2,048 个训练的正弦模型一样好（[Press 等](https://arxiv.org/abs/2108.12409)）。它只会越远越淡。',
    ],
    rope: [
      'RoPE',
      '每个位置都有角度；超出训练长度要靠第 8 章。在长篇中文案例（CAIL2019-SCM，没有超过它训练时的 1,536 个词元）上，512 个词元的准确率是 68.29%，1,024 个升到 69.79%，512 个词元的 BERT 是 67.77%（[RoFormer](https://arxiv.org/abs/2104.09864)）。第 11 章当场训练这样的模型。',
    ],
  },
};
