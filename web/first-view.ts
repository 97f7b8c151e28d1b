// The numbers of the first pictures, computed when the page is built: it shows them before the core has come, which is
// most of what it loads. The deterministic build gives the same bits everywhere.
import { load } from 'ropewalk';
import type { Plugin } from 'vite';
import { encodings } from './src/chapters/order/encodings.ts';
import { texts as en } from './src/chapters/order/i18n/en.ts';
import { texts as zh } from './src/chapters/order/i18n/zh.ts';
import { outputs } from './src/chapters/order/programs.js';
import { splitWords } from './src/figure/words.ts';
import { frequenciesOf } from './src/page/needles-picture.ts';

const core = load({ simd: 'deterministic' });

// With no more digits than they take.
const rounded = (value: number, isSame: (read: number) => boolean): number =>
  [4, 5, 6, 7, 8, 9].map((digits) => Number(value.toPrecision(digits))).find(isSame) ?? value;

export const firstView: Plugin = {
  name: 'first-view',
  enforce: 'pre',
  resolveId: (name) => (name === 'virtual:first-view' ? '\0virtual:first-view' : undefined),
  async load(id) {
    if (id !== '\0virtual:first-view') return;
    // Needles whose tips are drawn to a hundredth of a unit, 7.5 units from their middle.
    const frequencies = frequenciesOf(await core).map((x) => rounded(x, (y) => Math.abs(x - y) < 1e-5));
    return `export const frequencies = ${JSON.stringify(frequencies)};`;
  },
  // Each language comes with the numbers of its own sentence.
  async transform(code, id) {
    const [, language] = /[\\/]order[\\/]i18n[\\/](en|zh)\.ts$/.exec(id) ?? [];
    if (language === undefined) return;
    const words = splitWords((language === 'en' ? en : zh).words.sentence);
    const values = Array.from(outputs(await core, words, encodings.none), (x) =>
      rounded(x, (y) => Math.fround(y) === x),
    );
    return { code: `${code}\ntexts.words.outputs = ${JSON.stringify(values)};`, map: null };
  },
};
