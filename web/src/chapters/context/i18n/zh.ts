// 章节：更长的上下文。
import type { Texts } from './en';

export const texts: Texts = {
  opening: [
    '模型是用一定长度的文本训练的，比如 2,048 个词元。忽然有人给它 16,384 个。RoPE 对任何位置都算得出角度，所以运算不会出错，可模型常常就此失灵。为什么？',
    '把每一组看成钟的一根针。快针在训练中转了几百圈，能指到的角度全都见过。慢针连一圈也没转完；文本一长，它们就转进了表盘上模型从没见过的地方。',
  ],
  ask: {
    question: '在更长的文本里，哪些组会出现训练中从未有过的角度？',
    answers: [
      ['快的组，序号小', '它们转得最多，正因为这样，圆上哪里都去过了。'],
      ['慢的组，序号大'],
      ['所有的组', '每一组都转得更远了；但余弦和正弦不记得转过几整圈。'],
    ],
    explanation: '在训练长度内转满一圈的组，所有角度都已经见过。只有波长比训练长度还长的组，才会遇到新的角度。',
  },
  waves: {
    method: '方法',
    methods: {
      none: '不处理',
      linear: '位置内插 PI',
      ntk: 'NTK',
      yarn: 'YaRN',
      longrope: 'LongRoPE',
      llama3: 'Llama 3',
    },
    about: {
      none: '频率保持训练时的样子。',
      linear: '位置内插：所有频率都除以倍数，$ω_i / s$。没有新角度，但快的组变得迟钝了。',
      ntk: 'NTK-aware：底数 $b$ 加大到 $b · s^{D/(D−2)}$，让最慢的一组恰好拉长 $s$ 倍，最快的一组不变。',
      yarn: 'YaRN：训练中转了 32 圈以上的组不动，不足一圈的除以倍数 $s$，中间平缓过渡；余弦和正弦还要乘以 $0.1 · ln s + 1$，让得分略微变大，长文本需要这样。',
      longrope:
        'LongRoPE：每一组有自己的除数，靠搜索得到。这里的是编出来的：最快的一组是 1，逐渐增大，到第一个没有转满一圈的组就等于倍数；余弦和正弦同样乘以一个系数。',
      llama3:
        'Llama 3：和 YaRN 相似，但按波长分：短于训练长度四分之一的，$ω_i$ 不动；长于训练长度的，变成 $ω_i / s$；中间混合。',
    },
    length: '训练长度',
    factor: '长度倍数',
    base: '底数',
    label: '每一组的波长',
    pairIndex: '组',
    wavelength: '转一圈要多少个位置',
    trained: '训练时',
    trainedLength: '训练长度',
    target: '现在的长度',
    now: '现在',
    dials: '各组在长文本里转的圈数（每隔一组画一个）',
    seen: '训练中见过的角度',
    unseen: '新的角度',
    pair: (i) => `第 ${i} 组`,
    spoken: (i, seen, used, isNew) =>
      `第 ${i} 组：训练中 ${seen} 圈，现在 ${used} 圈${isNew ? '，有的角度没有见过' : ''}`,
    caption:
      '头维度为 64 的头。上：每一组转一圈要多少个位置。下：每隔一组画一个表盘，写着它转的圈数，从右边起逆时针数；感叹号表示有新的角度。',
    summary: (complete, pairs, fresh, degrees, target, factor) =>
      `${pairs} 组里有 ${complete} 组在训练中转满了一圈。到 ${target} 个词元，${fresh === '0' ? '没有一组' : `有 ${fresh} 组`}出现新的角度${fresh === '0' ? '' : `，最多 ${degrees}°`}。${factor === '' ? '' : `余弦和正弦乘以 ${factor}。`}`,
  },
  methodsProse: [
    '所有方法回答的是同一个问题：每一组该放慢多少？逐个切换，看那些点怎么移动。位置内插（[Chen 等，2023](https://arxiv.org/abs/2306.15595)）让所有的点移动同样一步。其他方法不动或几乎不动最快的那些组，因为相邻的词要靠它们来分辨；其余的按需要放慢。',
    'NTK-aware 只有最后一组按全部倍数放慢，其余慢的组仍会出现一些新的角度，但少得多。不再训练时，这往往已经够用，把倍数取得比需要的大一些就更是如此。YaRN（[Peng 等，2023](https://arxiv.org/abs/2309.00071)）、LongRoPE（[Ding 等，2024](https://arxiv.org/abs/2402.13753)）和 [Llama 3](https://arxiv.org/abs/2407.21783) 看的是圈数或者模型本身，而不是序号，因此完全避开了新角度。没有哪种方法是白来的，再稍加训练，效果都会更好。',
  ],
  methodsFormula: ['PI', 'NTK', 'YaRN、Llama 3', 'LongRoPE'],
  methodsNote: '$s$ 是倍数。训练中转得多的组 $γ_i$ 是 1，转得少的是 0；$λ_i$ 是搜索得到的除数。',
  after: ['文本一长，还会遇到另一种限制：角度要舍入。附录专门讲它。'],
  pitfalls: [
    [
      '“RoPE 的长度外推性很好。”',
      '不用上面这些方法，并不好：超出训练长度后，慢的组会转到模型从没见过的角度。RoPE 只是对任何位置都有公式可算，这是两回事。',
      '见[苏剑林介绍 RoPE 的文章](https://www.kexue.fm/archives/8265)里预训练的表之后，以及博客《Position Embedding》第 4 节。',
    ],
    [
      '给 YaRN 填的是想要的长度，而不是训练的长度。',
      '过渡带是按*原来*长度内的圈数来放的。填了扩展后的长度，本该放慢的组就被漏掉了。',
      '见 NVIDIA 的 NeMo：GPT-OSS 的配置该填 4,096，却填了 131,072（[#14686](https://github.com/NVIDIA-NeMo/Speech/issues/14686)）。',
    ],
    [
      '忘了 YaRN 的系数对得分的影响。',
      '它同时乘在查询和键的余弦、正弦上，所以得分乘的是它的平方。缓存里的键如果用同样的表再转一次，它又会被乘进去一遍。',
      'llama.cpp 就得处理这种情形：`build_rope_shift` 转动缓存里的键之前，先调整这个系数（[#17945](https://github.com/ggml-org/llama.cpp/pull/17945)）。',
    ],
    [
      '文本读到一半换了频率。',
      '动态 NTK 的底数随文本增长，LongRoPE 过了原长度就换一张表。缓存里的键是按旧频率转的，要么重新转，要么一开始就存未转的键。',
      '见 Hugging Face 的 LLaMA（[#25104](https://github.com/huggingface/transformers/issues/25104)）。',
    ],
  ],
};
