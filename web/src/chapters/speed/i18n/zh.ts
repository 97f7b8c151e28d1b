// 章节：在你的设备上有多快。
import type { Texts } from './en';

export const texts: Texts = {
  opening: [
    '旋转查询和键，算得少，搬得多。这个包用 WebAssembly 的 SIMD 指令，一次处理四个数。下面让你的设备把同样的活干两遍：一遍用这个包，一遍用认真写的普通 JavaScript。再把这些数复制一遍，什么也不算。',
  ],
  formula:
    '旋转一个头的 $N$ 个数要搬 $12N$ 字节：数占 $8N$，每个读 4 字节、写 4 字节；表占 $4N$，每两个数要读一个余弦和一个正弦。内存每秒搬 $B$ 字节，所以至少要 $t$ 秒。同一层的各个头合用一张表。',
  ask: {
    question: '要旋转一个头的 2,048 个词元，余弦和正弦已经备好。若把这些数复制一遍用时为 1，旋转要多久？',
    answers: [
      ['和复制一样久', '复制只把每个数读一遍、写一遍；旋转还要读表，还要算。'],
      ['几倍'],
      ['上百倍', '每组都现算余弦和正弦的话会这样，这里已经备好。'],
    ],
    explanation:
      '旋转搬的字节比复制多一半，每个数还要做两次乘法和一次加法，四个数一起做。这么点数都在处理器的缓存里，所以算和搬都要算时间。下面量一量，在你的设备上是多少。',
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
  several: [
    '一层要做大矩阵的乘法，几个线程可以分着做，只要每份够大：把一份交出去要花几微秒。同一个数的求和不会拆开，所以无论几个线程，结果都逐位相同。模型写作时一次只算一个词，活太少，由一个线程做。',
  ],
  threads: {
    table: '算一遍的毫秒数，取中位数',
    work: '一遍',
    count: (threads, isOne) => (isOne ? '一个线程' : `${threads} 个线程`),
    works: (tokens) => `带 RoPE 的注意力，8 个头，每头 32 维，词元数 ${tokens}`,
    time: (milliseconds) => `${milliseconds} 毫秒`,
    caption: '在后台轮流测量十五轮，取中位数，条越短越快。只有服务器声明本页不与别的页面共用内存，浏览器才允许这样做。',
    notYet: '还没有测量。',
    forbidden: (why) => `这里只有一个线程：${why}。`,
    summary: (ratio, isEqual) =>
      `长的一遍，两个线程的速度是一个的 ${ratio} 倍。各种线程数的结果${isEqual ? '逐位相同' : '不同'}。`,
  },
  after: [
    '本页用的版本，在每台机器上算出的结果逐位相同。不需要这一点的程序，在支持 relaxed SIMD 的引擎上会得到更快的版本。',
  ],
};
