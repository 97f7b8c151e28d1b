// 页面的中文文本。标记与英文相同：*…* 强调，`…` 代码，$…$ 变量，$x_i$ 带下标的变量，[文字](地址) 链接。
import type { Texts } from './dictionary';

export const zh: Texts = {
  frame: () => import('./zh/page'),
  order: async () => (await import('./zh/order')).order,
  binary: async () => (await import('./zh/binary')).binary,
  sinusoid: async () => (await import('./zh/sinusoid')).sinusoid,
  algebra: async () => (await import('./zh/algebra')).algebra,
  relative: async () => (await import('./zh/relative')).relative,
  rope: async () => (await import('./zh/rope')).rope,
  decay: async () => (await import('./zh/decay')).decay,
  context: async () => (await import('./zh/context')).context,
  axes: async () => (await import('./zh/axes')).axes,
  linear: async () => (await import('./zh/linear')).linear,
  playground: async () => (await import('./zh/playground')).playground,
  speed: async () => (await import('./zh/speed')).speed,
};
