// 训练好的模型带来的文字。
import type { DamageTexts } from './damage-en';

export const texts: DamageTexts = {
  sample:
    'Emma was not at all sorry to see Mr. Elton go. Mr. Elton had been with them all the evening, and Emma wished Mr. Elton good night.',
  damageProse: [
    '这个模型学过东西：本项目的一个脚本用简·奥斯汀的小说训练了它，此外只用了重复的随机词元。它的词元是单词的碎片。请在上面写一段英文，再逐个看它的头：第 1 层的头 1 看前一个词元；第 2 层的头 2 到 4 在名字第二次出现时，看同一个词元上次出现之后跟着什么。这是*归纳*的两半。在那些图下面，可以让模型接着你的文字往下写。',
    '这些有多少要靠位置？一个词元的损失是 −ln $p$，$p$ 是模型读完前面的词元后给它的概率；$e$ 的平均损失次方叫困惑度，相当于模型在多少个词元之间犹豫。下表每一行的权重都相同，不同的只是 RoPE 按什么位置转、怎么转。',
  ],
  damage: {
    caption: '上面那段文字在训练好的模型里逐个词元的损失：原样的模型，和换了位置的模型。',
    change: '改动',
    changes: {
      own: '原样',
      shuffled: '打乱位置',
      none: '不旋转',
      pairing: '换配对方式',
      base: '底数 100',
      linear: 'PI，倍数 4',
      ntk: 'NTK，倍数 4',
      yarn: 'YaRN，倍数 4',
    },
    table: '每个词元的损失和困惑度',
    corner: '位置',
    loss: '损失',
    perplexity: '困惑度',
    tokens: '每个词元的损失',
    token: '词元',
    mean: (change, loss) => `${change}：${loss}`,
    short: '请在上面写至少两个词元的文字。',
    summary: (change, own, changed, factor) =>
      `每个词元的损失：原样 ${own}，改动后（${change}）${changed}。模型犹豫的词元数变为原来的 ${factor} 倍。`,
  },
};
