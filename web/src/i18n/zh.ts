// 页面的中文文本。标记与英文相同：*…* 强调，`…` 代码，$…$ 变量，$x_i$ 带下标的变量，[文字](地址) 链接。
import type { Texts } from './dictionary';

export const zh: Texts = {
  frame: () => import('./zh/page'),
  order: async () => (await import('../chapters/order/i18n/zh')).order,
  binary: async () => (await import('../chapters/binary/i18n/zh')).binary,
  sinusoid: async () => (await import('../chapters/sinusoid/i18n/zh')).sinusoid,
  algebra: async () => (await import('../chapters/algebra/i18n/zh')).algebra,
  relative: async () => (await import('../chapters/relative/i18n/zh')).relative,
  rope: async () => (await import('../chapters/rope/i18n/zh')).rope,
  decay: async () => (await import('../chapters/decay/i18n/zh')).decay,
  context: async () => (await import('../chapters/context/i18n/zh')).context,
  axes: async () => (await import('../chapters/axes/i18n/zh')).axes,
  linear: async () => (await import('../chapters/linear/i18n/zh')).linear,
  playground: async () => (await import('../chapters/playground/i18n/zh')).playground,
  speed: async () => (await import('../chapters/speed/i18n/zh')).speed,
};
