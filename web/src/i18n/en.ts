// The page in English, and by its type what every other language has to say. In prose *...* is emphasis, `...` code,
// $...$ a variable, $x_i$ one with an index, and [text](address) a link. The frame's texts come with the page, those of
// a chapter with the chapter.
export const en = {
  frame: () => import('./en/page'),
  order: async () => (await import('./en/order')).order,
  binary: async () => (await import('./en/binary')).binary,
  sinusoid: async () => (await import('./en/sinusoid')).sinusoid,
  algebra: async () => (await import('./en/algebra')).algebra,
  relative: async () => (await import('./en/relative')).relative,
  rope: async () => (await import('./en/rope')).rope,
  decay: async () => (await import('./en/decay')).decay,
  context: async () => (await import('./en/context')).context,
  axes: async () => (await import('./en/axes')).axes,
  linear: async () => (await import('./en/linear')).linear,
  playground: async () => (await import('./en/playground')).playground,
  speed: async () => (await import('./en/speed')).speed,
};
