// 章节：把各种编码放在一起。
import type { Texts } from './en';

export const texts: Texts = {
  opening: ['前面每一章都近看一种编码。这一章退后一步，把它们放在一起。'],
  codeTitle: '完整的注意力代码',
  codeProse: [
    '位置进入注意力的地方有三处。正弦编码和可学习编码加在词上，在算出查询和键之前。RoPE 和 xPos 转动查询和键。其余的编码改变得分，Shaw 还改变值。',
    '下图用同一组造出来的查询、键和值，给每种编码各算一遍注意力：两个头，八个词元。打开图下的程序看看。每个程序都是完整的，拿来就能运行，分别用 NumPy、PyTorch 和 ropewalk 写成；本页的测试会检查三者有五位数字一致。',
  ],
  formula:
    '查询 $i$ 与键 $j$ 的得分。$R$ 是转动，属于 RoPE 和 xPos；$b$ 是每个距离的一个数，属于 T5、ALiBi 和 KERPLE。',
  ask: {
    question: '两个词一起往后移三个位置。哪些程序给出的得分不变？',
    answers: [
      ['全部', '正弦编码和可学习编码加在词上：位置变了，加的那一行就变，得分也变。'],
      ['只有 RoPE 和 xPos', 'T5、ALiBi、KERPLE、Shaw、M3 和 M4 看的也是距离。'],
      ['除正弦和可学习之外的全部'],
    ],
    explanation: '只通过距离进入的位置，不知道两个词各在哪里。',
  },
  attention: {
    encoding: '编码',
    encodings: {
      none: '无',
      sinusoidal: '正弦',
      learned: '可学习',
      shaw: 'Shaw',
      m3: 'M3',
      m4: 'M4',
      t5: 'T5',
      alibi: 'ALiBi',
      kerple: 'KERPLE',
      rope: 'RoPE，相邻配对',
      ropeHalf: 'RoPE，两半配对',
      xpos: 'xPos',
    },
    library: '库',
    libraries: { numpy: 'NumPy', pytorch: 'PyTorch', ropewalk: 'ropewalk' },
    programs: '完整程序：NumPy、PyTorch 和 ropewalk',
    lost: '程序没有送到，可能是网络断了。',
    head: (head) => `头 ${head}`,
    weight: '注意力权重',
    query: '查询',
    key: '键',
    cell: (head, query, key, weight) => `头 ${head}：查询 ${query} 从键 ${key} 取 ${weight}。`,
    row: (head, token) => `头 ${head}，词元 ${token}`,
    out: '输出',
    caption:
      '所选编码下两个头的注意力权重。这些数代替训练得到的数，每次都一样。ALiBi 和 xPos 是为因果模型设计的，所以那里看不到后面的键。',
    summary: (encoding, query, itself, first) =>
      `${encoding}：在头 0 里，查询 ${query} 从自己的键取 ${itself}，从键 0 取 ${first}。`,
  },
  codeAfter: [
    '把两个程序逐行对照。T5、ALiBi 和 KERPLE 给每个得分加一个数，注意力本身不变。RoPE 转动的是输入，注意力本身也不变。Shaw、M3 和 M4 则要在乘积里面为每一对词取一行；所以为普通注意力写的快速内核，它们用不上。',
  ],
  evidence: () => import('./evidence-zh'),
};
