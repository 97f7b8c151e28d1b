// The page in English, and by its type what every other language has to say. In prose *...* is emphasis, `...` code,
// $...$ a variable, $x_i$ one with an index, and [text](address) a link.
import { algebra } from './en/algebra';
import { axes } from './en/axes';
import { binary } from './en/binary';
import { context } from './en/context';
import { decay } from './en/decay';
import { order } from './en/order';
import { figure, page } from './en/page';
import { relative } from './en/relative';
import { rope } from './en/rope';
import { sinusoid } from './en/sinusoid';
import { speed } from './en/speed';

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
