// Words through a stack of layers with random weights: what content and position each do to the scores. The worker
// computes them; until they come, the figure shows what it had.
import type { RopeScaling } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { line, oneName, slider, toggle } from '../../figure/settings';
import { maxWords, splitWords } from '../../figure/words';
import type { Numbers } from '../../i18n/language';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import type { Values } from '../../ui/state';
import { latest } from '../../work/latest';
import { alsoWait } from '../../work/soon';
import type { Texts } from './i18n/en';
import { resultCode, scoreMaps, showHead, viewSettings } from './score-maps';
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

type Wish = Pick<Stacked, 'words' | 'options'>;

function settingsOf(common: Texts, plain: (value: number) => string) {
  const texts = common.stack;
  const countName = (value: string): string => plain(Number(value));
  const all = (value: number): string => (value === 0 ? texts.all : plain(value));
  return {
    words: line(texts.label, maxSentence, texts.sentence),
    encoding: oneName(common.encoding, stackEncodings, 'half', (value) => texts.encodings[value]),
    heads: oneName(texts.heads, headCounts, '4', countName),
    kv: oneName(texts.kvHeads, headCounts, '4', countName),
    layers: slider(texts.layers, layerCounts, 1, plain),
    causal: toggle(texts.causal, false),
    window: slider(texts.window, windows, 0, all),
    sinks: slider(texts.sinks, sinkCounts, 0, plain),
    base: slider(common.base, bases, 10000, plain),
    scaling: oneName(common.scaling, scalings, 'default', (value) => common.scalings[value]),
    factor: slider(common.factor, factors, 4, plain),
    seed: slider(common.seed, seeds, 1, plain),
    ...viewSettings(common.scores, plain),
  };
}
type StackValues = Values<ReturnType<typeof settingsOf>>;

function wishOf(values: StackValues): Wish {
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

function summaryOf(
  texts: Texts['stack'],
  fixed: Numbers['fixed'],
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

export function playgroundStack(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.stack;
  const common = chapter.texts;
  const { plain, fixed } = chapter.numbers;
  const fields = settingsOf(common, plain);
  return figure(chapter, { name: 'stack', caption: texts.caption, wide: true }, fields, (section, controls) => {
    const {
      words: sentence,
      encoding,
      heads,
      kv,
      layers,
      causal,
      window,
      sinks,
      base,
      scaling,
      factor,
      seed,
      view,
      head,
    } = controls;
    const maps = scoreMaps(common.scores, chapter.frame.figure, chapter.numbers);
    const notice = h('p', { class: 'notice' });
    const refused = refusal(chapter.frame.figure);
    const rope = h('div', { class: 'settings' }, scaling.element, base.element, factor.element);
    let showAgain: () => void = () => undefined;

    // Looking at other maps of the same scores need not compute them again.
    const keyOf = ({ words, options }: Wish): string => JSON.stringify([words, options]);
    const compute = async (): Promise<void> => {
      const { words, options } = wishOf(section.values);
      const key = keyOf({ words, options });
      if (known?.key === key || words.length === 0) return;
      const scores = await remoteBench()
        .then((remote) => remote.stack(words, options))
        .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
      known = { key, words, options, scores };
    };
    const work = latest(
      () => keyOf(wishOf(section.values)),
      compute,
      () => showAgain(),
    );

    return {
      controls: [
        h('div', { class: 'row grow' }, sentence.element),
        h('div', { class: 'row' }, encoding.element),
        view.element,
        more(
          chapter.frame,
          rope,
          h('div', { class: 'row' }, heads.element, kv.element, causal.element),
          h('div', { class: 'settings' }, head.element, layers.element, window.element, sinks.element, seed.element),
        ),
      ],
      picture: [notice, refused.element, maps.element],
      show(values) {
        const isFirst = known === undefined;
        const done = work.follow();
        if (isFirst) alsoWait(done);
        const { options } = wishOf(section.values);
        const given = splitWords(values.words).length;
        kv.show(String(options.kvHeads) as (typeof headCounts)[number], (value) => Number(value) <= options.heads);
        sinks.element.hidden = values.window === 0;
        factor.element.hidden = values.scaling === 'default';
        rope.hidden = !isRotary(values.encoding);
        showHead(head, values, options.heads);
        const cut = texts.tooMany(plain(maxWords), plain(given));
        notice.textContent = given === 0 ? texts.empty : given > maxWords ? cut : '';
        const shown = given === 0 ? undefined : known;
        refused.show(typeof shown?.scores === 'string' ? shown.scores : undefined);
        const isBehind = given > 0 && known?.key !== keyOf(wishOf(section.values));
        maps.element.hidden = shown === undefined || typeof shown.scores === 'string';
        if (shown === undefined || typeof shown.scores === 'string') {
          return { summary: '', code: stackCode([], options, ''), table: () => [], isBehind };
        }
        const { words, scores, options: has } = shown;
        const H = has.heads;
        const headAt = Math.min(values.head, H) - 1;
        const isHidden = hides(has);
        maps.update({ scores, view: values.view, head: headAt, heads: H, words, isHidden });
        const result = resultCode(values.view, headAt, H);
        return {
          summary: summaryOf(texts, fixed, scores, has, isHidden, words.length),
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
