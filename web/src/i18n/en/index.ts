// The page in English, and by its type what every other language has to say. In prose *...* is emphasis, `...` code,
// $...$ a variable, $x_i$ one with an index, and [text](address) a link.
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

export const en = {
  page,
  figure,
  encodings: { none: 'None', sinusoidal: 'Sinusoidal', rope: 'RoPE' },
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
