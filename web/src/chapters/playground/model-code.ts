// Programs that load the reader's model, or make the small one, and go on from there.

import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import type { RopeWish } from './bench';
import { shown as ofModel } from './model-programs.js?shown';
import { shown as ofMaps } from './score-map.js?shown';
import type { Source } from './session';
import { shown as ofTiny } from './tiny-model.js?shown';

const wishCode = (wish: Exclude<RopeWish, undefined>): string => (wish === 'none' ? '() => null' : literal(wish));

/** A program whose `model` is the model with the wish, and `own` the model as it is. */
export function modelCode(source: Source, wish: RopeWish, rest: string): string {
  const made =
    source.kind === 'files'
      ? `// Yours, from a file picker: config.json, and model.safetensors or the index of several. Of a .gguf: { gguf: file }.
const config = JSON.parse(await files.config.text());
const { weights } = files;`
      : `const { config, weights } = tinyModel(${literal(source.kind)}, ${source.seed});`;
  return program(
    { ...ofTiny, ...ofModel, ...ofMaps },
    `${made}
const own = await loadModel(rw, { config, weights });
const model = ${wish === undefined ? 'own' : `own.withRope(${wishCode(wish)})`};
${rest}`,
    "import { load } from 'ropewalk';\nimport { loadModel } from 'ropewalk/models';",
  );
}
