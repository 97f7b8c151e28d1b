// The page in English, and by its type what every other language has to say. In prose *...* is emphasis, `...` code,
// $...$ a variable, $x_i$ one with an index, and [text](address) a link. The frame's texts come with the page, those of
// a chapter with the chapter.
export const en = {
  frame: () => import('./en/page'),
  order: async () => (await import('../chapters/order/i18n/en')).order,
  binary: async () => (await import('../chapters/binary/i18n/en')).binary,
  sinusoid: async () => (await import('../chapters/sinusoid/i18n/en')).sinusoid,
  algebra: async () => (await import('../chapters/algebra/i18n/en')).algebra,
  relative: async () => (await import('../chapters/relative/i18n/en')).relative,
  rope: async () => (await import('../chapters/rope/i18n/en')).rope,
  decay: async () => (await import('../chapters/decay/i18n/en')).decay,
  context: async () => (await import('../chapters/context/i18n/en')).context,
  axes: async () => (await import('../chapters/axes/i18n/en')).axes,
  linear: async () => (await import('../chapters/linear/i18n/en')).linear,
  playground: async () => (await import('../chapters/playground/i18n/en')).playground,
  speed: async () => (await import('../chapters/speed/i18n/en')).speed,
};
