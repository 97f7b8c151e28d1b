// 解码器带来的文字。
import type { DecoderTexts } from './decoder-en';

export const texts: DecoderTexts = {
  sample:
    'Emma was not at all sorry to see Mr. Elton go. Mr. Elton had been with them all the evening, and Emma wished Mr. Elton good night.',
  damageProse: [
    '这个模型学过东西：本项目的一个脚本用简·奥斯汀的小说训练了它，此外只用了重复的随机词元。它的词元是单词的碎片。请在上面写一段英文，再逐个看它的头：第 1 层的头 1 看前一个词元；第 2 层的头 2 到 4 在名字第二次出现时，看同一个词元上次出现之后跟着什么。两者合起来就是*归纳*。在那些图下面，可以让模型接着你的文字往下写。',
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
  lengthTitle: '比训练时更长的文字',
  lengthProse: [
    '小模型每次训练只读 128 个词元，相距更远的两个词元它从没见过。给它更长的文字会怎样？第 8 章的那些缩放有没有用？',
    '下图把一段文字切成窗口，算出每个词元的损失，再按它在窗口里看得见多少个词元来归类。同样的权重测四遍：不缩放、PI、NTK、YaRN，都不再训练。现成的一段取自《劝导》的最后二十分之一，模型没有用它训练过。换成自己的文字，测的就是自己的文字；上面的其他解码器，只要用旋转编码，也可以测。',
  ],
  length: {
    caption: '词元的平均损失，按它看得见多少个词元，每种缩放一条曲线。竖线是模型训练时的长度。',
    text: (most) => `文字，最多 ${most} 个字符；空着就用《劝导》的一段`,
    length: '窗口的词元数',
    run: '测量',
    label: '损失，按看得见的词元数和缩放',
    x: '看得见的词元数',
    y: '每个词元的损失（nat）',
    scalings: { none: '不缩放', linear: 'PI', ntk: 'NTK', yarn: 'YaRN' },
    range: (first, last) => `${first} 到 ${last}`,
    trained: (length) => `训练长度 ${length}`,
    notYet: '还没有测量。',
    short: '这段文字不到两个词元，没有什么可测。请多写一些。',
    within: (length, trained) => `${length} 个词元的窗口没有超过训练长度 ${trained}，曲线看不到更远的地方。`,
    shorter: (count, trained) =>
      `这段文字有 ${count} 个词元，没有超过训练长度 ${trained}，曲线看不到更远的地方。请多写一些。`,
    ends: (count, length) => `这段文字有 ${count} 个词元，不足 ${length} 个词元的窗口，曲线到文字结束为止。`,
    one: (scaling, loss) => `${scaling} ${loss}`,
    summary: (count, trained, first, last, losses) =>
      `文字有 ${count} 个词元，模型的训练长度是 ${trained}。看得见 ${first} 到 ${last} 个词元时的损失：${losses.join('，')}。`,
  },
  lengthAfter: [
    '用现成的那段、512 个词元的窗口、倍数 4：不缩放，到 191 个词元（训练长度的一倍半）损失还和训练长度以内一样低，从 256 个起约为 4。PI 处处在 4.0 到 4.3，连训练长度以内也是，比 YaRN 多出一个 nat 或更多：它把快的组也放慢了，快的组数的是一步两步，权重就读错了，要再训练才行。NTK 撑到 383 个词元，然后失守。YaRN 撑到最后，损失 3.0。',
    'YaRN 也没有从更长的文字里得到什么：前面有 449 个词元，并不比只有 64 个更好预测。缩放让模型在没有训练过的长度上不出错；那么远的地方有什么可看，它没有学过。每个点是大约 400 个词元的平均，相邻两点差 0.2 可能只是文字的缘故；四条曲线是同样的词元，不同的只有缩放。',
  ],
};
