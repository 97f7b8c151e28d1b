// 章节以外的文字，以及每幅图都有的文字。
import type { FrameTexts } from './texts';

export const page: FrameTexts['page'] = {
  title: ['注意力', '怎么', '知道', '词', '在', '哪里'],
  needles:
    '标题里每个词一行，每组坐标一根指针：在第一个词处全部放平，往后一个词一个词地转，最左边的转得最快。看指针的指向，就知道词的位置。',
  lede: '用可以动手的图来讲位置编码。输入、拖动、旋转：你一动手，图就现算，用的正是 ropewalk 包里的那份代码。',
  hero: {
    words: [0, 3],
    alone: '只让一个走',
    note: '拖动一个词，或者用方向键移动它。它的指针随位置转动，最左边的转得最快。两个词一起走，得分不变。',
    score: (distance, score, stays) => `距离 ${distance}：得分 ${score}${stays ? '，没有变。' : '。'}`,
  },
  contents: '章节',
  skip: '跳到正文',
  themeIs: (theme) => `主题：${{ auto: '跟随系统', light: '浅色', dark: '深色' }[theme]}`,
  build: (version, simd) =>
    `由 ropewalk ${version}（WebAssembly，${simd}）在你的设备上计算，不向任何地方发送数据。你所做的设置都在本页的地址里，复制地址就是复制这幅图。打开过一次之后，没有网络也能再读。`,
  console: '在本页的开发者控制台里，可以直接用 `rw` 调用这个包。',
  lost: '这一章没有取到，可能是网络断了。你所做的设置都在地址里，不会丢。',
  again: '重新载入',
  languageLost: '这种语言的文字没有取到，连接可能断了。',
  failed: '本页的图需要支持 SIMD 的 WebAssembly，而这个浏览器没能运行它。它的说法是：',
};

export const figure: FrameTexts['figure'] = {
  label: '图',
  copyLink: '复制链接',
  menu: '菜单',
  saveAs: { png: '保存图片（PNG）', csv: '保存数据（CSV）', json: '保存数据（JSON）' },
  saved: '已保存',
  saveFailed: '没能保存',
  nothingToSave: '还没有可以保存的内容',
  reset: '重置',
  more: '更多设置',
  table: '显示表格',
  picture: '显示图形',
  code: '画出这幅图的调用',
  copyCode: '复制代码',
  copied: '已复制',
  copyFailed: '已选中，请按 Ctrl+C',
  copyHere: '这里不允许复制，链接在此',
  predict: '先猜，再看',
  right: '对。',
  wrong: '不对。',
  pitfalls: '容易弄错的地方',
  run: '开始',
  cancel: '取消',
  progress: (percent) => `已完成 ${percent}%`,
  cancelled: '已取消。',
  refused: 'ropewalk 的回答：',
  cells: '指向或触摸格子，也可以按 Tab 进入图中，再用方向键逐格移动。',
};
