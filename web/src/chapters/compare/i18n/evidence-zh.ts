// 各种编码能做什么，论文报告了什么。
import type { EvidenceTexts } from './evidence-en';

export const texts: EvidenceTexts = {
  resultsTitle: '各自能做什么',
  resultsProse: [
    '记分卡填满了，实验室也量过了，这里合成一张表。小曲线是事先用第 11 章的模型记录的三个种子的平均。前三列是小模型训练过程中说对的词元比例：前一个词元；倒过来的序列；以及（两层时）序列重复时接下来的词元。最后一列是按位置的损失：模型只训练到虚线处，数字是虚线之外的平均损失。',
    '短横表示本页各章都没有评过。',
  ],
  results: {
    order: '排序',
    orders: { reading: '章节', previous: '前一个', reverse: '倒序', induction: '重复', length: '长度之外' },
    names: { binary: '二进制', fire: 'FIRE', rope: 'RoPE', pope: 'PoPE' },
    measures: { previous: '前一个', reverse: '倒序', induction: '重复', length: '长度之外的损失' },
    used: '用在哪里',
    usedBy: {
      none: 'SmolLM3 和 Command R7B 每四层中的一层',
      binary: '–',
      sinusoidal: '[最初的 Transformer](https://arxiv.org/abs/1706.03762)',
      learned: '[BERT](https://arxiv.org/abs/1810.04805)、GPT-2、OPT',
      shaw: '[作者自己的翻译模型](https://arxiv.org/abs/1803.02155)',
      m3: '–',
      m4: '–',
      t5: '[T5](https://arxiv.org/abs/1910.10683)',
      alibi: '[BLOOM](https://arxiv.org/abs/2211.05100)、MPT',
      kerple: '–',
      fire: '–',
      rope: '[RoFormer](https://arxiv.org/abs/2104.09864)、LLaMA、Qwen、Mistral、Gemma',
      pope: '–',
    },
    label: '各种编码：标准、小模型用它能做什么、谁在用',
    summary: (all) => all.join(''),
    best: (measure, names, value) => `${measure}最好的：${names.join('、')}（${value}）。`,
    caption:
      '实验室能训练的各种编码。比例是训练结束时说对的词元，前两列训练 300 步，第三列 500 步；损失的单位是奈特，越低越好。瞎猜的损失是 2.77。',
  },
  resultsAfter: [
    '没有哪一种编码在每一列都最好。二进制、正弦和可学习编码从头数起：只有它们能说出倒过来的序列，但超出训练长度就掉下悬崖。其余的多半在训练长度之外还能读下去。ALiBi、KERPLE 和 FIRE 不分距离的正负，所以前一个词元至多说对一半左右。两个头时，ALiBi 的斜率是 1/16 和 1/256，太平缓，指不准一个词元，重复的几乎学不会。RoPE 做近处的事做得好，照原样用到远处就不行，要靠第 8 章来补。今天多数模型用的是它，因为它只转动查询和键，注意力的其余部分和快速内核都不用改。',
  ],
  publishedTitle: '论文里的结果',
  publishedProse: [
    '小模型说明一种编码能说出什么。它在大模型里带来多少好处，要靠网页做不了的实验。下面是两篇论文的实验，以及为什么不能读出太多。',
    '第一张表里，BERT 按字读，WoBERT 按词读，都用绝对位置。RoFormer 是把 WoBERT 的绝对位置换成 RoPE。名字后面的数是模型读的词元数。',
  ],
  published: {
    law: {
      caption: '两个案例里哪个更相似？准确率，百分数（CAIL2019-SCM）',
      corner: '模型',
      columns: ['验证集', '测试集'],
      rows: {},
      note: '512 个词元时，RoFormer 和 WoBERT 不相上下。1,024 个时，RoFormer 在测试集上提高 1.50 个百分点；而只有 RoFormer 试过这么多。（[RoFormer，表 5](https://arxiv.org/abs/2104.09864)；[苏剑林，2021](https://www.kexue.fm/archives/8265)。）',
    },
    stages: {
      caption: 'RoFormer 的中文预训练，一个阶段接一个阶段',
      corner: '阶段',
      columns: ['词元', '批大小', '步数（千）', '损失', '准确率，%'],
      rows: {},
      note: '文本越长，最后的准确率越高。不过，上下文多，被遮住的词本来就好猜；也没有别的编码照样训练过，可以拿来比。（[RoFormer，表 4](https://arxiv.org/abs/2104.09864)。）',
    },
    glue: {
      caption: '英文任务（GLUE）',
      corner: '模型',
      columns: ['MRPC', 'SST‑2', 'QNLI', 'STS‑B', 'QQP', 'MNLI‑m', 'MNLI‑mm'],
      rows: {},
      note: 'MRPC 和 QQP 是 F1，STS-B 是 Spearman 相关系数，其余是准确率。六个任务里 RoFormer 三个领先，三个落后。它那一行是验证集上的；BERT 那一行是 BERT 论文报告的测试集结果（[Devlin 等，2018](https://arxiv.org/abs/1810.04805)）。所以 QQP 的 15 分与位置关系不大。英德翻译的 BLEU，RoFormer 是 27.5，最初的 Transformer 是 27.3。（[RoFormer，表 1 和表 2](https://arxiv.org/abs/2104.09864)。）',
    },
    lengths: {
      caption: 'WikiText-103 上的困惑度，越低越好',
      corner: '编码',
      columns: ['训练长度', '读的长度', '困惑度'],
      rows: { sinusoidal: '正弦', alibi: 'ALiBi', short: 'ALiBi', long: 'ALiBi' },
      note: '用 512 个词元训练的 ALiBi 读 3,072 个词元，比就用 3,072 个词元训练的正弦模型还好，训练快到 1.84 倍。13 亿参数时，用 1,024 个词元训练的 ALiBi 读 2,048 个，困惑度比用 2,048 个训练的正弦模型低 0.09。作者发现，这多半来自每一段开头的词元：段落长了，它们的上下文也多了。（[Press 等，4.1 和 4.2 节，附录 B](https://arxiv.org/abs/2108.12409)。）',
    },
  },
};
