// 章节：在你的设备上有多快。
import type { Dictionary } from '../dictionary';

export const speed: Dictionary['speed'] = {
  title: '在你的设备上有多快',
  opening: [
    '旋转查询和键，算得少，搬得多。这个包用 WebAssembly 的 SIMD 指令，一次处理四个数。下面让你的设备把同样的活干两遍：一遍用这个包，一遍用认真写的普通 JavaScript。',
  ],
  ask: {
    question: '生成正弦编码表时，JavaScript 要调用 Math.sin 和 Math.cos。包会快多少？',
    answers: ['差不多', '几倍', '十倍以上'],
    right: 1,
    explanation: '一般是几倍，按“开始”就知道。各家引擎不同，同时运行的其他程序也会干扰结果。',
  },
  run: {
    table: '一次调用的毫秒数，取中位数',
    work: '工作',
    core: '包',
    script: 'JavaScript',
    ratio: '倍数',
    works: {
      rotate: 'RoPE，2,048 个词元，头的大小 128',
      sinusoid: '正弦编码表，2,048 × 256',
    },
    caption: '在后台轮流测量，共十五轮。包的结果放在新的数组里，和程序实际用到时一样。',
    notYet: '还没有测量。',
    summary: (ratio) => `做 RoPE，普通 JavaScript 用的时间是包的 ${ratio} 倍。`,
  },
  after: ['本页用的是在每台机器上逐位相同的版本。不需要这一点的程序，在支持 relaxed SIMD 的引擎上会得到更快的版本。'],
};
