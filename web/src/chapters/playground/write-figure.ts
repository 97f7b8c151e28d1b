// Tokens from the reader's decoder, one after the other, with the encoding that is chosen above.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { slider, together } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import { literal } from '../../programs/literal';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import type { Values } from '../../ui/state';
import type { NumberTableData } from '../../views/number-table';
import { workControl } from '../../views/work-control';
import type { Texts } from './i18n/en';
import { itemsOf, noId } from './items';
import { modelCode } from './model-code';
import { type LookValues, lookSettings, maxTokens, wishOf } from './rope-wish';
import { endsInTime, type Ready, remoteBench, session } from './session';

const temperatures = whole(0, 20).map((tenths) => tenths / 10);
const topKs = [0, 1, 2, 5, 10, 20, 50, 100];
const topPs = whole(1, 20).map((twentieths) => twentieths / 20);
const seeds = whole(0, 50);
const lengths = [8, 16, 32, 64, 128, 256];
// The page follows at this pace, in milliseconds.
const showEvery = 100;

interface Written {
  readonly id: number;
  readonly name: string;
  readonly logprob: number;
}

/** What was written, of what. */
interface Sheet {
  /** What it is true of; '' for nothing. */
  readonly key: string;
  readonly written: Written[];
  /** The prompt as it was used. */
  given?: readonly number[];
  /** How many ids the prompt had before the rest was cut off. */
  all?: number;
  text: string;
  rate?: number;
  /** Ended before all of it was written. */
  isStopped?: boolean;
  /** What is no id. */
  unknown?: string;
  failure?: string;
}

const blank = (key = ''): Sheet => ({ key, written: [], text: '' });
// Also for the figure of another language.
let sheet = blank();

function settingsOf(common: Texts, { plain, fixed }: Numbers) {
  const texts = common.write;
  const off = (value: number): string => (value === 0 ? texts.off : plain(value));
  return {
    temperature: slider(texts.temperature, temperatures, 0.8, (value) =>
      value === 0 ? texts.greedy : fixed(value, 1),
    ),
    topK: slider('Top-k', topKs, 0, off),
    topP: slider('Top-p', topPs, 1, (value) => (value === 1 ? texts.off : fixed(value, 2))),
    seed: slider(common.seed, seeds, 1, plain),
    length: slider(texts.length, lengths, 32, plain),
  };
}

function optionsIn({ temperature, topK, topP, seed, length }: Values<ReturnType<typeof settingsOf>>) {
  return {
    maxTokens: length,
    temperature,
    ...(topK > 0 && { topK }),
    ...(topP < 1 && { topP }),
    seed,
    logprobs: true,
  };
}

// Why nothing can be written; '' where it can.
function missingFor(texts: Texts['write'], ready: Ready | undefined): string {
  if (ready === undefined) return texts.noModel;
  if (ready.facts.kind === 'encoder') return texts.encoder;
  return ready.facts.hasLogits ? '' : texts.noHead;
}

// Only what is new is added: readers may have selected some of it.
function showTokens(list: HTMLElement, { written }: Sheet): void {
  if (list.children.length > written.length) list.replaceChildren();
  for (const { name } of written.slice(list.children.length)) {
    list.append(h('li', {}, h('bdi', {}, name)));
  }
}

interface Writing {
  readonly look: LookValues;
  readonly options: ReturnType<typeof optionsIn>;
  readonly ready: Ready;
}

interface Reader {
  /** What is written is not wanted any more. */
  isOver(): boolean;
  showAgain(): void;
  progress(share: number): void;
  readonly signal: AbortSignal;
}

async function writeOn(
  own: Sheet,
  { look, options, ready }: Writing,
  { isOver, showAgain, progress, signal }: Reader,
): Promise<void> {
  signal.addEventListener('abort', () => {
    own.isStopped = true;
  });
  const remote = await remoteBench();
  const all = await remote.read(look.ids);
  if (isOver()) return;
  if (all === undefined) {
    own.unknown = noId(look.ids);
    return;
  }
  const ids = all.slice(0, maxTokens);
  [own.given, own.all] = [ids, all.length];
  const wish = wishOf(look, ready.facts);
  const begin = performance.now();
  let shownAt = begin;
  const bringText = async (): Promise<void> => {
    own.text = await remote.text([...ids, ...own.written.map(({ id }) => id)]);
  };
  try {
    for await (const { token, logprob } of remote.generate(ids, wish, { ...options, signal })) {
      const [name] = await remote.names([token]);
      if (isOver()) break;
      own.written.push({ id: token, name: name ?? '', logprob: logprob ?? 0 });
      const now = performance.now();
      own.rate = (1000 * own.written.length) / (now - begin);
      progress(own.written.length / options.maxTokens);
      if (now - shownAt < showEvery) continue;
      shownAt = now;
      await bringText();
      if (isOver()) break;
      showAgain();
    }
  } catch (error) {
    // Also of what was ended; a worker that was ended has none.
    await bringText().catch(() => undefined);
    throw error;
  }
  await bringText();
}

function writeCode(
  ready: Ready,
  look: LookValues,
  options: ReturnType<typeof optionsIn>,
  ids: readonly number[],
): string {
  return modelCode(
    ready,
    wishOf(look, ready.facts),
    `const options = ${literal(options)};
const result = [];
for await (const { token, logprob } of model.generate([${ids.join(', ')}], options)) {
  result.push([token, logprob]);
}`,
  );
}

function tableOf(
  texts: Texts['write'],
  { plain, significant }: Numbers,
  written: readonly Written[],
  first: number,
): NumberTableData {
  return {
    caption: texts.table,
    corner: texts.place,
    columns: [texts.id, texts.logprob],
    rows: written.map(({ id, logprob }, i) => ({ name: plain(first + i), values: [id, logprob] })),
    print: (value) => significant(value, 4),
  };
}

export function playgroundWrite(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.write;
  const { plain, significant } = chapter.numbers;
  // The ids and the encoding are those of the figure above.
  const prompt = chapter.section('look', lookSettings(chapter.texts, plain));
  const fields = settingsOf(chapter.texts, chapter.numbers);
  return figure(chapter, { name: 'write', caption: texts.caption }, fields, (section, controls) => {
    const { temperature, topK, topP, seed, length } = controls;
    const list = h('ol', { class: 'tokens', 'aria-label': texts.tokens });
    const whole = h('p', { class: 'written' });
    const notice = h('p', { class: 'notice' });
    const refused = refusal(chapter.frame.figure);
    const settings = h(
      'div',
      { class: 'controls' },
      together(temperature, length),
      more(chapter.frame, together(topK, topP, seed)),
    );
    let showAgain: () => void = () => undefined;

    const optionsOf = () => optionsIn(section.values);
    const keyNow = (): string => {
      const { ids, wish, base, factor } = prompt.values;
      return JSON.stringify([session.ready?.number, ids, wish, base, factor, optionsOf()]);
    };

    const work = workControl(
      { ...chapter.frame.figure, run: texts.run, cancel: texts.stop, cancelled: '' },
      plain,
      (signal, progress) => {
        const written = write(signal, progress);
        signal.addEventListener('abort', () => void endsInTime(written));
        return written;
      },
    );

    async function write(signal: AbortSignal, progress: (share: number) => void): Promise<void> {
      const { ready } = session;
      if (ready === undefined) return;
      const started = keyNow();
      const own = blank(started);
      sheet = own;
      showAgain();
      // Another model, another prompt: what is written would not be true of it.
      const isOver = (): boolean => sheet !== own || keyNow() !== started;
      try {
        const wished = { look: prompt.values, options: optionsOf(), ready };
        await writeOn(own, wished, { isOver, showAgain, progress, signal });
      } catch (error) {
        if (!signal.aborted) own.failure = error instanceof Error ? error.message : String(error);
      } finally {
        showAgain();
      }
    }

    const stops = [session.subscribe(() => showAgain()), prompt.subscribe(() => showAgain())];
    return {
      controls: [notice, refused.element, settings, work.element],
      picture: [whole, list],
      again(show) {
        showAgain = show;
      },
      show() {
        if (sheet.key !== '' && keyNow() !== sheet.key) {
          work.cancel();
          sheet = blank();
        }
        const { written, text, rate, all = 0, unknown } = sheet;
        const { ready } = session;
        const missing = missingFor(texts, ready);
        const cut = all > maxTokens ? texts.tooMany(plain(maxTokens), plain(all)) : '';
        const told = unknown === undefined ? missing || cut : chapter.texts.look.noTokenizer(unknown);
        if (notice.textContent !== told) notice.textContent = told;
        // Where nothing can be written, there is nothing to set.
        settings.hidden = work.element.hidden = missing !== '';
        refused.show(sheet.failure);
        showTokens(list, sheet);
        whole.textContent = text;
        whole.hidden = text === '';
        list.hidden = written.length === 0;
        const isEmpty = rate === undefined || written.length === 0;
        const soFar =
          missing !== '' ? '' : isEmpty ? texts.notYet : texts.summary(plain(written.length), significant(rate, 2));
        const options = optionsOf();
        const words = prompt.values.ids;
        // Those of words are known once they are read.
        const ids = sheet.given ?? (noId(words) ? [] : itemsOf(words).map(Number).slice(0, maxTokens));
        return {
          summary: sheet.isStopped ? `${soFar} ${texts.stopped}` : soFar,
          isEmpty: written.length === 0, // as where nothing can be written
          code:
            missing !== '' || ready === undefined || ids.length === 0
              ? ''
              : writeCode(ready, prompt.values, options, ids),
          table: () => [tableOf(texts, chapter.numbers, written, ids.length)],
        };
      },
      reset() {
        work.cancel();
        sheet = blank();
        showAgain();
      },
      end() {
        work.cancel();
        for (const stop of stops) stop();
      },
    };
  });
}
