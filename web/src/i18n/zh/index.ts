// 页面的中文文本。标记与英文相同：*…* 强调，`…` 代码，$…$ 变量，$x_i$ 带下标的变量，[文字](地址) 链接。
import type { Dictionary } from '../dictionary';
import { algebra } from './algebra';
import { axes } from './axes';
import { binary } from './binary';
import { context } from './context';
import { decay } from './decay';
import { order } from './order';
import { figure, page } from './page';
import { relative } from './relative';
import { rope } from './rope';
import { sinusoid } from './sinusoid';
import { speed } from './speed';

export const zh: Dictionary = {
  page,
  figure,
  encodings: { none: '无', sinusoidal: '正弦', rope: '旋转 RoPE' },
  order,
  binary,
  sinusoid,
  algebra,
  relative,
  rope,
  decay,
  context,
  axes,
  speed,
};
