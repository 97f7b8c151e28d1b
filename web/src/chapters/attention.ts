// Why a position is needed: words through a small attention layer, every head drawn.
import { button, choiceControl, flagControl, textControl } from '../controls';
import { h } from '../dom';
import { figure } from '../figure';
import { mathml } from '../formulas/attention.tex';
import { attentionCode, attentionWeights, repeatedWord, rowSpread } from '../pictures/attention-picture';
import { encodingNames } from '../pictures/encodings';
import { joinWords, maxWords, shuffledOrder, splitWords } from '../pictures/words';
import { prediction } from '../prediction';
import { formula, paragraphs, richText } from '../rich-text';
import { choice, flag, text } from '../state';
import { isDark, onThemeChange } from '../theme';
import { heatGrid } from '../views/heat-grid';
import type { Cell } from '../views/heat-map';
import type { Chapter } from './chapter';

const headCounts = ['1', '2', '4', '8'] as const;
const maxSentence = 300;
// Rows of equal words come out of the same arithmetic; a difference this small would be rounding.
const rounding = 1e-6;

export const attentionChapter: Chapter = {
  id: 'attention',
  title: (texts) => texts.attention.title,

  mount(root, state, core) {
    const texts = state.texts.attention;
    const { plain, fixed } = state.numbers;
    const section = state.section({
      words: text(maxSentence, texts.sentence),
      encoding: choice(encodingNames, 'none'),
      heads: choice(headCounts, '2'),
      causal: flag(false),
      table: flag(false),
    });

    let words: string[] = [];
    const name = (i: number): string => {
      const word = words[i] ?? '';
      return words.indexOf(word) === words.lastIndexOf(word) ? texts.word(word) : texts.wordAt(word, plain(i));
    };
    const isHidden = ({ row, column }: Cell): boolean => section.values.causal && column > row;
    const grid = heatGrid({
      hint: texts.hint,
      legend: texts.legend,
      hiddenLegend: texts.masked,
      tableCorner: texts.tableCorner,
      title: (head) => texts.head(plain(head + 1)),
      label: (head) => texts.plot(plain(head + 1)),
      tableCaption: (head) => texts.tableCaption(plain(head + 1)),
      tell(head, cell, value) {
        const [number, from, to] = [plain(head + 1), name(cell.row), name(cell.column)];
        return isHidden(cell) ? texts.hidden(number, from, to) : texts.looks(number, from, to, fixed(value, 2));
      },
      print: (value) => fixed(value, 2),
      printExactly: (value) => fixed(value, 4),
    });

    const sentence = textControl(texts.sentenceLabel, maxSentence, (value) => section.set({ words: value }, 'words'));
    const encoding = choiceControl(
      texts.encoding,
      encodingNames.map((value) => ({ value, label: state.texts.encodings[value] })),
      (value) => section.set({ encoding: value }),
    );
    const heads = choiceControl(
      texts.heads,
      headCounts.map((value) => ({ value, label: plain(Number(value)) })),
      (value) => section.set({ heads: value }),
    );
    const causal = flagControl(texts.causal, (value) => section.set({ causal: value }));
    const shuffle = button(texts.shuffle, () => {
      const order = shuffledOrder(words);
      grid.follow(order);
      const left = splitWords(section.values.words).slice(maxWords);
      section.set({ words: joinWords([...order.map((from) => words[from] ?? ''), ...left]) });
    });
    const notice = h('p', { class: 'notice' });
    const frame = figure({
      texts: state.texts.figure,
      caption: texts.caption,
      controls: [
        h('div', { class: 'row grow' }, sentence.element, shuffle),
        h('div', { class: 'row' }, encoding.element, heads.element, causal.element),
      ],
      picture: [notice, grid.picture],
      table: grid.table,
      link: () => state.link(),
      reset: () => section.reset(),
      toggleTable: () => section.set({ table: !section.values.table }),
    });

    function summaryOf(weights: readonly Float32Array[], isCausal: boolean): string {
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
      return isCausal ? `${compared} ${texts.causalLeaks}` : compared;
    }

    function show(): void {
      const values = section.values;
      const all = splitWords(values.words);
      words = all.slice(0, maxWords);
      const options = { encoding: values.encoding, heads: Number(values.heads), causal: values.causal };
      const weights = attentionWeights(core, words, options);

      sentence.show(values.words);
      encoding.show(values.encoding);
      heads.show(values.heads);
      causal.show(values.causal);
      shuffle.disabled = new Set(words).size < 2;
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
      frame.summarize(words.length === 0 ? '' : summaryOf(weights, values.causal));
      frame.showTable(values.table && words.length > 0);
      frame.code.show(attentionCode(words, options));
    }

    root.append(
      h('div', { class: 'prose' }, ...paragraphs(texts.prose.slice(0, 1))),
      formula(mathml),
      h(
        'div',
        { class: 'prose' },
        h('p', { class: 'formula-note' }, ...richText(texts.formula)),
        ...paragraphs(texts.prose.slice(1)),
        prediction(state.texts.figure, {
          question: texts.question,
          answers: texts.answers,
          explanation: texts.explanation,
          right: 1,
        }),
      ),
      frame.element,
    );
    show();
    const ends = [state.subscribe(show), onThemeChange(show), grid.destroy];
    return () => {
      for (const end of ends) end();
      root.replaceChildren();
    };
  },
};
