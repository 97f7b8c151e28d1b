// Words through a small attention layer, every head drawn.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { line, oneName, toggle } from '../../figure/settings';
import { joinWords, maxWords, shuffledOrder, splitWords } from '../../figure/words';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { button } from '../../ui/controls';
import { h } from '../../ui/dom';
import { isDark } from '../../ui/theme';
import { heatGrid } from '../../views/heat-grid';
import type { Cell } from '../../views/heat-map';
import type { Coming } from '../../work/coming';
import { encodingNames, encodings } from './encodings';
import type { Texts } from './i18n/en';
import { mapsOf, repeatedWord, rowSpread } from './map-numbers';
import { attentionWeights } from './programs';
import { shown } from './programs.js?shown';

const headCounts = ['1', '2', '4', '8'] as const;
const maxSentence = 300;
// Rows of equal words come out of the same arithmetic; a difference this small would be rounding.
const rounding = 1e-6;

function summaryOf(
  texts: Texts['map'],
  fixed: (value: number, digits: number) => string,
  words: readonly string[],
  isCausal: boolean,
  weights: readonly Float32Array[],
): string {
  if (words.length === 0) return '';
  if (words.length === 1) return texts.single;
  const rows = repeatedWord(words);
  const word = words[rows[0] ?? 0] ?? '';
  const spread = rowSpread(weights, words.length, rows);
  const compared =
    rows.length === 0
      ? texts.noRepeat
      : spread < rounding
        ? texts.rowsEqual(word, rows.length)
        : texts.rowsDiffer(word, rows.length, fixed(spread, 2));
  return isCausal ? texts.causalLeaks(compared) : compared;
}

export function orderMap(chapter: ChapterState<Texts>, core: Coming<Ropewalk>): Figure {
  const texts = chapter.texts.map;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    words: line(texts.label, maxSentence, texts.sentence),
    encoding: oneName(chapter.texts.encoding, encodingNames, 'none', (value) => chapter.texts.encodings[value]),
    heads: oneName(texts.heads, headCounts, '2', (value) => plain(Number(value))),
    causal: toggle(texts.causal, false),
  };
  return figure(chapter, { name: 'map', caption: texts.caption, wide: true }, fields, (section, controls) => {
    const { words: sentence, encoding, heads, causal } = controls;
    let words: string[] = [];
    const name = (i: number): string => {
      const word = words[i] ?? '';
      return words.indexOf(word) === words.lastIndexOf(word) ? texts.word(word) : texts.wordAt(word, plain(i));
    };
    let isCausal = false;
    const isHidden = ({ row, column }: Cell): boolean => isCausal && column > row;
    const grid = heatGrid({
      hint: texts.hint,
      legend: texts.legend,
      hiddenLegend: texts.masked,
      title: (head) => texts.head(plain(head + 1)),
      label: (head) => texts.plot(plain(head + 1)),
      tell(head, cell, value) {
        const [number, from, to] = [plain(head + 1), name(cell.row), name(cell.column)];
        return isHidden(cell) ? texts.hidden(number, from, to) : texts.looks(number, from, to, fixed(value, 2));
      },
      print: (value) => fixed(value, 2),
    });
    const shuffle = button(texts.shuffle, () => {
      const order = shuffledOrder(words);
      grid.follow(order);
      const left = splitWords(section.values.words).slice(maxWords);
      section.set({ words: joinWords([...order.map((from) => words[from] ?? ''), ...left]) });
    });
    const notice = h('p', { class: 'notice' });

    return {
      controls: [
        h('div', { class: 'row grow' }, sentence.element, shuffle),
        encoding.element,
        more(chapter.frame, h('div', { class: 'row' }, heads.element, causal.element)),
      ],
      picture: [notice, grid.picture],
      again: (show) => core.whenHere(show),
      show(values) {
        const all = splitWords(values.words);
        words = all.slice(0, maxWords);
        isCausal = values.causal;
        shuffle.disabled = core.now === undefined || new Set(words).size < 2;
        if (core.now === undefined) return undefined;
        const H = Number(values.heads);
        const options = { heads: H, causal: values.causal, position: encodings[values.encoding] };
        const weights = words.length === 0 ? [] : mapsOf(attentionWeights(core.now, words, options).data, H);
        const cut = texts.tooMany(plain(maxWords), plain(all.length));
        notice.textContent = words.length === 0 ? texts.empty : all.length > maxWords ? cut : '';
        grid.picture.hidden = words.length === 0;
        grid.update({
          words,
          maps: weights,
          hidden: isHidden,
          hasHidden: values.causal && words.length > 1,
          onDark: isDark(),
        });
        // A word may be there more than once.
        const placed = words.map((word, i) => `${plain(i)} · ${word}`);
        return {
          summary: summaryOf(texts, fixed, words, isCausal, weights),
          code: program(
            shown,
            `const words = ${literal(words)};
const scores = attentionWeights(rw, words, ${literal(options)});
const result = scores.data;`,
          ),
          table: () =>
            weights.map((map, head) => ({
              caption: texts.table(plain(head + 1)),
              corner: texts.corner,
              columns: placed,
              rows: placed.map((name, row) => ({
                name,
                values: words.map((_, column) =>
                  isHidden({ row, column }) ? undefined : map[row * words.length + column],
                ),
              })),
              print: (value: number) => fixed(value, 4),
            })),
        };
      },
      end: grid.destroy,
    };
  });
}
