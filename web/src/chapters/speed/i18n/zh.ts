// 章节：在你的设备上有多快。
import type { Texts } from './en';

export const texts: Texts = {
  opening: [
    '旋转查询和键，算得少，搬得多。这个包用 WebAssembly 的 SIMD 指令，一次处理四个数。下面让你的设备把同样的活干两遍：一遍用这个包，一遍用认真写的普通 JavaScript。再把这些数复制一遍：搬的字节一样多，什么也不算。',
  ],
  formula: '旋转 $N$ 个数要搬 $8N$ 字节：每个数读 4 字节，写 4 字节。内存每秒搬 $B$ 字节，所以至少要 $t$ 秒。',
  ask: {
    question: '要旋转许多查询和键，余弦和正弦已经备好。时间主要花在哪里？',
    answers: [
      ['乘法', '每个数只乘两次，有了 SIMD，四个数一起乘。'],
      ['余弦和正弦', '每次现算的话确实如此，但这里已经备好。'],
      ['读写这些数'],
    ],
    explanation:
      '每个数连同它那一组的余弦和正弦读一次，做两次乘法和一次加法，再写一次。有了 SIMD，算得比内存快。下面量一量，它比单纯复制要多花多少时间。',
  },
  run: {
    table: '一次调用的毫秒数，取中位数',
    work: '工作',
    ways: { core: '包', script: 'JavaScript', copy: '只复制' },
    ratio: 'JavaScript：包',
    time: (milliseconds) => `${milliseconds} 毫秒`,
    works: {
      rotate: 'RoPE，2,048 个词元，头维度 128',
      sinusoid: '正弦编码表，2,048 × 256',
    },
    caption:
      '在后台轮流测量十五轮，取中位数，条越短越快。RoPE 就地旋转；编码表写在上一张的位置上。最后一条只复制同样多的数，别的什么也不做。',
    notYet: '还没有测量。',
    summary: (ratio, copies) => `做 RoPE，普通 JavaScript 用的时间是包的 ${ratio} 倍；包用的时间够复制 ${copies} 次。`,
  },
  after: [
    '本页用的版本，在每台机器上算出的结果逐位相同。不需要这一点的程序，在支持 relaxed SIMD 的引擎上会得到更快的版本。',
  ],
};
