// Words that can be dragged to other places, above the output of an attention layer for each.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { line, oneName } from '../../figure/settings';
import { joinWords, maxWords, shuffledOrder, splitWords } from '../../figure/words';
import { call, program } from '../../programs/program';
import { button } from '../../ui/controls';
import { h } from '../../ui/dom';
import { order } from '../../ui/state';
import { isDark } from '../../ui/theme';
import { wordRow } from '../../views/word-row';
import type { Coming } from '../../work/coming';
import { type EncodingName, encodingNames, encodings } from './encodings';
import type { Texts } from './i18n/en';
import { outputDim, outputs } from './programs';
import { shown } from './programs.js?shown';
import { changes } from './words-numbers';

const maxSentence = 120;
// The same sums in another order: what is smaller than this is rounding.
const rounding = 1e-5;

export function orderWords(chapter: ChapterState<Texts>, core: Coming<Ropewalk>): Figure {
  const texts = chapter.texts.words;
  const { plain, fixed, bound } = chapter.numbers;
  const fields = {
    words: line(texts.label, maxSentence, texts.sentence, { order: undefined }),
    order: order(),
    encoding: oneName(chapter.texts.encoding, encodingNames, 'none', (value) => chapter.texts.encodings[value]),
  };
  return figure(chapter, { name: 'words', caption: texts.caption }, fields, (section, controls) => {
    const { words: sentence, encoding } = controls;
    let places: readonly number[] = [];
    const move = (from: number, to: number): void => {
      const next = [...places];
      next.splice(to, 0, ...next.splice(from, 1));
      section.set({ order: next }, 'move');
    };
    const notice = h('p', { class: 'notice' });
    const row = wordRow(texts.row, texts.help, move);
    // Before the core has come, those of the first sentence.
    const outputsOf = (words: readonly string[], name: EncodingName): Float32Array | undefined => {
      if (core.now !== undefined) return outputs(core.now, words, encodings[name]);
      return name === 'none' && joinWords(words) === texts.sentence ? Float32Array.from(texts.outputs) : undefined;
    };
    const shuffle = button(texts.shuffle, () => {
      const { words } = section.values;
      section.set({ order: shuffledOrder(splitWords(words).slice(0, maxWords)) });
    });
    return {
      controls: [h('div', { class: 'row grow' }, sentence.element, shuffle), encoding.element],
      picture: [notice, row.element],
      again: (show) => core.whenHere(show),
      show(values) {
        const all = splitWords(values.words);
        const words = all.slice(0, maxWords);
        const known = values.order;
        places = known?.length === words.length ? known : words.map((_, i) => i);
        const standing = places.map((i) => words[i] ?? '');
        const before = outputsOf(words, values.encoding);
        const now = outputsOf(standing, values.encoding);
        if (before === undefined || now === undefined) return undefined;
        const moved = changes(now, before, places);
        const limit = before.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
        shuffle.disabled = new Set(words).size < 2;
        row.update(
          standing.map((word, at) => ({
            key: places[at] ?? at,
            word,
            values: Array.from(now.subarray(at * outputDim, (at + 1) * outputDim)),
            note: (moved[at] ?? 0) < rounding ? texts.same : texts.changed(bound(moved[at] ?? 0, 2)),
            changed: (moved[at] ?? 0) >= rounding,
          })),
          limit,
          isDark(),
        );
        const told = chapter.texts.map;
        const cut = all.length > maxWords ? told.tooMany(plain(maxWords), plain(all.length)) : '';
        notice.textContent = words.length === 0 ? told.empty : cut;
        const inOrder = places.every((place, i) => place === i);
        const most = Math.max(0, ...moved);
        return {
          summary:
            words.length < 2
              ? words.length === 0
                ? ''
                : told.single
              : inOrder
                ? texts.asWritten
                : most < rounding
                  ? texts.equal
                  : texts.different(bound(most, 2)),
          code: program(shown, `const result = ${call('outputs', standing, encodings[values.encoding])};`),
          table: () => [
            {
              caption: texts.table,
              corner: texts.corner,
              columns: Array.from({ length: outputDim }, (_, i) => plain(i)),
              rows: standing.map((word, at) => ({
                name: word,
                values: Array.from(now.subarray(at * outputDim, (at + 1) * outputDim)),
              })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
    };
  });
}
