// 页面的中文文本。标记与英文相同：*…* 强调，`…` 代码，$…$ 变量，$x_i$ 带下标的变量，[文字](地址) 链接。
import type { Dictionary } from './dictionary';
import { algebra } from './zh/algebra';
import { axes } from './zh/axes';
import { binary } from './zh/binary';
import { context } from './zh/context';
import { decay } from './zh/decay';
import { order } from './zh/order';
import { figure, page } from './zh/page';
import { relative } from './zh/relative';
import { rope } from './zh/rope';
import { sinusoid } from './zh/sinusoid';
import { speed } from './zh/speed';

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
