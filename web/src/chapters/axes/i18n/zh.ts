// 章节：多个轴上的位置。
import type { Texts } from './en';

export const texts: Texts = {
  opening: [
    '图像被切成小块，一行接一行地交给模型。给它们编上 0、1、2……，RoPE 看到的就是一条长线。正下方的小块于是远在一整行之外，而一行的末尾又紧挨着下一行的开头。',
    '办法很简单：给小块两个位置，一个行号，一个列号，让一些组跟着行走，另一些组跟着列走。',
  ],
  formula: '第 6 章的得分，对所有组求和。现在 $m$ 和 $n$ 在每个轴上各有一个数，第 $i$ 组跟着轴 $a(i)$ 走。',
  ask: {
    question:
      '每行八块，排成一条线编号。在第 3 行第 3 列（从 0 数起）的小块看来，正下方的邻居和下一行开头的那一块，哪个得分更高？',
    answers: [
      ['正下方的邻居', '图上挨着，线上却隔着整整一行。'],
      ['下一行开头的那一块'],
      ['一样高', '那得两者在线上一样远才行。'],
    ],
    explanation: '只有线上的步数算数。正下方要走八步，那一行的开头只要五步，所以得分略高。换成两个轴的布局，再看一看。',
  },
  grid: {
    layout: '轴',
    layouts: { flat: '一条线', axial: '轴向', vision: 'Qwen2-VL 视觉', pixtral: 'Pixtral' },
    patch: '查询小块',
    base: '底数',
    label: '一个小块与所有小块的得分',
    score: '得分 / D',
    row: '行',
    column: '列',
    place: (row, column) => `第 ${row} 行第 ${column} 列`,
    hint: '指向一个小块，或用方向键逐格移动；点击或按回车，就以它为查询。',
    cell: (row, column, score) => `第 ${row} 行第 ${column} 列：${score}`,
    caption:
      '八乘八块的图像，头维度是 64。所有小块的向量都一样，差别只来自位置。加框的小块拿自己的查询去和所有的键相乘。距离这么短，底数小到 100 才合适。',
    summary: (place, beside, below) => `从${place}看：旁边的邻居得分 ${beside}，上面或下面的 ${below}。`,
  },
  layoutsProse: [
    '有了两个轴，横向和纵向就一样了，或者差不多一样。各种布局的差别在于哪些组归哪个轴。*轴向*布局和 Qwen2-VL 的视觉部分让每个轴各占一半坐标，各有一整套快慢。*Pixtral* 只有一套，轮流分发：偶数号频率给行，奇数号给列，所以两个方向略有不同。',
    '能看图的语言模型又进了一步。Qwen2-VL 的 *M-RoPE*（[Wang 等，2024](https://arxiv.org/abs/2409.12191)）给每个词元三个数：时间、行、列。文字的三个数相等，所以对纯文本毫无影响。同一张图里的小块时间相同，行和列不同。',
  ],
  ids: {
    before: '前面的词',
    rows: '行数',
    columns: '列数',
    frames: '帧数',
    idsTitle: '每个词元的三个位置',
    pairsTitle: '头维度为 64 的头里，每一组跟着哪个轴',
    position: '位置',
    axis: '轴',
    token: '词元',
    pair: '组',
    axes: ['时间', '行', '列'],
    letters: ['时', '行', '列'],
    speeds: '左边的组转得最快，右边的最慢。',
    lettered: (letter, axis) => (letter === axis ? axis : `${letter}：${axis}`),
    layouts: ['分段', '轮流'],
    cell: (token, isImage, axis, position) => `词元 ${token}（${isImage ? '图像' : '文字'}）：${axis} ${position}`,
    pairCell: (layout, pair, axis) => `${layout}：第 ${pair} 组跟着${axis}`,
    caption:
      '上：几个词、一张图或一段视频（加框）、再三个词的位置。下：各组怎样分给各轴，分段（Qwen2-VL）或轮流（Qwen3-VL）；它们的头维度是 128，这里的组数各减一半。',
    summary: (length, image, next) => `共 ${length} 个词元，其中 ${image} 个是小块。再往后添一个词，就在位置 ${next}。`,
  },
  after: [
    '注意文字从哪里接着数：从目前最大的位置加一，而不是从词元的个数。图再大，在位置的序列里也占不了多少地方。',
    '分段时，快的组归了时间，慢的归行和列。Qwen3-VL 改成轮流分发，让每个轴都有快有慢。',
  ],
  pitfalls: [
    [
      '每一段的频率都从头数起。',
      'M-RoPE 里组的序号一直往下数：行那一段的第一组，接着时间的最后一组。轴向布局才是从头数起。两者不是一回事。',
      '两种写法都在 Hugging Face 的 `modeling_qwen2_vl.py` 里：`VisionRotaryEmbedding` 从头数起，`apply_multimodal_rotary_pos_emb` 接着数。',
    ],
    [
      '分段的大小按坐标来填。',
      '一段 16 指的是 16 组，也就是 32 个坐标。各段的组数加起来是头维度的一半。',
      '没有查到出处；看 `apply_multimodal_rotary_pos_emb` 的代码就知道，它先把这张表重复一遍，再去切坐标。',
    ],
    [
      '用词元的个数当作下一个位置。',
      '带缓存逐个生成时，下一个词的位置并不等于已有词元的个数，两者之差要记下来。Hugging Face 把它叫做 `rope_deltas`。',
      '见 mlx-vlm：差丢了，写出来的是“This is is is is”（[#1527](https://github.com/Blaizzy/mlx-vlm/pull/1527)）。',
    ],
  ],
};
