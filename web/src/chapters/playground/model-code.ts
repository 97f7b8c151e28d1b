// Programs that load the reader's model, or make the small one, and go on from there.

import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import type { RopeWish } from './bench';
import { shown as ofModel } from './model-programs.js?shown';
import { shown as ofMaps } from './score-map.js?shown';
import type { Ready } from './session';

const wishCode = (wish: Exclude<RopeWish, undefined>): string => (wish === 'none' ? '() => null' : literal(wish));

/** A program whose `model` is the model with the wish, and `own` the model as it is. */
export function modelCode({ origin }: Ready, wish: RopeWish, rest: string): string {
  return program(
    { ...origin.shown, ...ofModel, ...ofMaps },
    `${origin.lines}
const own = await loadModel(rw, { config, weights });
const model = ${wish === undefined ? 'own' : `own.withRope(${wishCode(wish)})`};
${rest}`,
    "import { load } from 'ropewalk';\nimport { loadModel } from 'ropewalk/models';",
  );
}
