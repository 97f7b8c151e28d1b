// Words through a stack of layers with random weights: what content and position each do to the scores. The worker
// computes them; until they come, the figure shows what it had.
import type { RopeScaling } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { maxWords, splitWords } from '../../figure/words';
import { choiceControl, flagControl, stepControl, textControl, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import { choice, flag, oneOf, text } from '../../ui/state';
import { latest } from '../../work/latest';
import { alsoWait } from '../../work/soon';
import type { Texts } from './i18n/en';
import { resultCode, scoreMaps, viewControls, viewFields } from './score-maps';
import { hides, rootMeanSquare, type ScoreParts } from './score-parts';
import { remoteBench } from './session';
import { isRotary, type StackOptions, stackCode, stackEncodings } from './stack';

const headCounts = ['1', '2', '4', '8'] as const;
const scalings = ['default', 'linear', 'ntk', 'yarn', 'llama3'] as const;
const bases = [10, 100, 1000, 10000, 100000, 1000000];
const factors = [2, 4, 8, 16, 32];
// Of a model that was trained on sentences as short as these.
const originalLength = 8;
const windows = [0, 1, 2, 3, 4, 6, 8];
const sinkCounts = whole(0, 4);
const layerCounts = whole(1, 4);
const seeds = whole(1, 20);
const maxSentence = 300;

function scalingOf(type: (typeof scalings)[number], factor: number): RopeScaling {
  if (type === 'default') return { type };
  return type === 'yarn' || type === 'llama3' ? { type, factor, originalLength } : { type, factor };
}

/** Words, what is done with them, and what came of it. */
interface Stacked {
  readonly key: string;
  readonly words: readonly string[];
  readonly options: StackOptions;
  readonly scores: ScoreParts | string;
}

// The latest of them, for the figure that comes after this one in another language.
let known: Stacked | undefined;

export function playgroundStack(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.stack;
  const common = chapter.texts;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    words: text(maxSentence, texts.sentence),
    encoding: choice(stackEncodings, 'half'),
    heads: choice(headCounts, '4'),
    kv: choice(headCounts, '4'),
    layers: oneOf(layerCounts, 1),
    causal: flag(false),
    window: oneOf(windows, 0),
    sinks: oneOf(sinkCounts, 0),
    base: oneOf(bases, 10000),
    scaling: choice(scalings, 'default'),
    factor: oneOf(factors, 4),
    seed: oneOf(seeds, 1),
    ...viewFields,
  };
  return figure(chapter, { name: 'stack', caption: texts.caption, wide: true }, fields, (section) => {
    const counts = headCounts.map((value) => ({ value, label: plain(Number(value)) }));
    const sentence = textControl(texts.label, maxSentence, (value) => section.set({ words: value }, 'words'));
    const encoding = choiceControl(
      chapter.texts.encoding,
      stackEncodings.map((value) => ({ value, label: texts.encodings[value] })),
      (value) => section.set({ encoding: value }),
    );
    const heads = choiceControl(texts.heads, counts, (value) => section.set({ heads: value }));
    const kv = choiceControl(texts.kvHeads, counts, (value) => section.set({ kv: value }));
    const layers = stepControl(texts.layers, layerCounts, plain, (value) => section.set({ layers: value }, 'layers'));
    const causal = flagControl(texts.causal, (value) => section.set({ causal: value }));
    const all = (value: number): string => (value === 0 ? texts.all : plain(value));
    const window = stepControl(texts.window, windows, all, (value) => section.set({ window: value }, 'window'));
    const sinks = stepControl(texts.sinks, sinkCounts, plain, (value) => section.set({ sinks: value }, 'sinks'));
    const base = stepControl(common.base, bases, plain, (value) => section.set({ base: value }, 'base'));
    const scaling = choiceControl(
      common.scaling,
      scalings.map((value) => ({ value, label: common.scalings[value] })),
      (value) => section.set({ scaling: value }),
    );
    const factor = stepControl(common.factor, factors, plain, (value) => section.set({ factor: value }, 'factor'));
    const seed = stepControl(common.seed, seeds, plain, (value) => section.set({ seed: value }, 'seed'));
    const view = viewControls(common.scores, plain, (patch, gesture) => section.set(patch, gesture));
    const maps = scoreMaps(common.scores, chapter.frame.figure, chapter.numbers);
    const notice = h('p', { class: 'notice' });
    const refused = refusal(chapter.frame.figure);
    const rope = h('div', { class: 'settings' }, scaling.element, base.element, factor.element);
    let showAgain: () => void = () => undefined;

    function wished(): Pick<Stacked, 'words' | 'options'> {
      const { values } = section;
      const heads = Number(values.heads);
      return {
        words: splitWords(values.words).slice(0, maxWords),
        options: {
          encoding: values.encoding,
          heads,
          kvHeads: Math.min(Number(values.kv), heads),
          layers: values.layers,
          causal: values.causal,
          window: values.window,
          sinkTokens: values.window === 0 ? 0 : values.sinks,
          seed: values.seed,
          rope: { base: values.base, scaling: scalingOf(values.scaling, values.factor) },
        },
      };
    }
    // Looking at other maps of the same scores need not compute them again.
    const keyOf = ({ words, options }: Pick<Stacked, 'words' | 'options'>): string => JSON.stringify([words, options]);
    const compute = async (): Promise<void> => {
      const { words, options } = wished();
      const key = keyOf({ words, options });
      if (known?.key === key || words.length === 0) return;
      const scores = await remoteBench()
        .then((remote) => remote.stack(words, options))
        .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
      known = { key, words, options, scores };
    };
    const work = latest(
      () => keyOf(wished()),
      compute,
      () => showAgain(),
    );

    function summaryOf(
      scores: ScoreParts,
      options: StackOptions,
      isHidden: (r: number, c: number) => boolean,
      T: number,
    ) {
      const spread = (part: Float32Array): number =>
        rootMeanSquare([part.map((value, i) => (isHidden(Math.floor(i / T) % T, i % T) ? Number.NaN : value))]);
      const [content, position] = [spread(scores.content), spread(scores.position)];
      if (options.encoding === 'sinusoidal') return texts.summaryAdded(fixed(content, 2));
      if (position === 0) return texts.summaryNone(fixed(content, 2));
      return texts.summary(fixed(content, 2), fixed(position, 2));
    }

    return {
      controls: [
        h('div', { class: 'row grow' }, sentence.element),
        h('div', { class: 'row' }, encoding.element),
        rope,
        h('div', { class: 'row' }, heads.element, kv.element, causal.element),
        h('div', { class: 'settings' }, layers.element, window.element, sinks.element, seed.element),
        h('div', { class: 'settings' }, view.view, view.head),
      ],
      picture: [notice, refused.element, maps.element],
      show(values) {
        const isFirst = known === undefined;
        const done = work.follow();
        if (isFirst) alsoWait(done);
        const { options } = wished();
        const given = splitWords(values.words).length;
        sentence.show(values.words);
        encoding.show(values.encoding);
        heads.show(values.heads);
        kv.show(String(options.kvHeads) as (typeof headCounts)[number], (value) => Number(value) <= options.heads);
        layers.show(values.layers);
        causal.show(values.causal);
        window.show(values.window);
        sinks.show(values.sinks);
        sinks.element.hidden = values.window === 0;
        base.show(values.base);
        scaling.show(values.scaling);
        factor.show(values.factor);
        factor.element.hidden = values.scaling === 'default';
        rope.hidden = !isRotary(values.encoding);
        seed.show(values.seed);
        view.show(values, options.heads);
        const cut = texts.tooMany(plain(maxWords), plain(given));
        notice.textContent = given === 0 ? texts.empty : given > maxWords ? cut : '';
        const shown = given === 0 ? undefined : known;
        refused.show(typeof shown?.scores === 'string' ? shown.scores : undefined);
        const isBehind = given > 0 && known?.key !== keyOf(wished());
        maps.element.hidden = shown === undefined || typeof shown.scores === 'string';
        if (shown === undefined || typeof shown.scores === 'string') {
          return { summary: '', code: stackCode([], options, ''), table: () => [], isBehind };
        }
        const { words, scores, options: has } = shown;
        const H = has.heads;
        const head = Math.min(values.head, H) - 1;
        const isHidden = hides(has);
        maps.update({ scores, view: values.view, head, heads: H, words, isHidden });
        const result = resultCode(values.view, head, H, (name) => `scores.${name}.data`);
        return {
          summary: summaryOf(scores, has, isHidden, words.length),
          code: stackCode(words, has, `const T = words.length;\n${result}`),
          table: maps.tables,
          isBehind,
        };
      },
      again(show) {
        showAgain = show;
      },
      end() {
        work.end();
        maps.destroy();
      },
    };
  });
}
