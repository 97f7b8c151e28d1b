// Tokens from the reader's decoder, one after the other, with the encoding that is chosen above.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { literal } from '../../programs/literal';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import { workControl } from '../../views/work-control';
import type { Texts } from './i18n/en';
import { itemsOf, noId } from './items';
import { modelCode } from './model-code';
import { lookSettings, maxTokens, wishOf } from './rope-wish';
import { endsInTime, remoteBench, session } from './session';

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

export function playgroundWrite(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.write;
  const { plain, fixed, significant } = chapter.numbers;
  // The ids and the encoding are those of the figure above.
  const prompt = chapter.section('look', lookSettings(chapter.texts, plain));
  const off = (value: number): string => (value === 0 ? texts.off : plain(value));
  const fields = {
    temperature: slider(texts.temperature, temperatures, 0.8, (value) =>
      value === 0 ? texts.greedy : fixed(value, 1),
    ),
    topK: slider('Top-k', topKs, 0, off),
    topP: slider('Top-p', topPs, 1, (value) => (value === 1 ? texts.off : fixed(value, 2))),
    seed: slider(chapter.texts.seed, seeds, 1, plain),
    length: slider(texts.length, lengths, 32, plain),
  };
  return figure(chapter, { name: 'write', caption: texts.caption }, fields, (section, controls) => {
    const { temperature, topK, topP, seed, length } = controls;
    const list = h('ol', { class: 'tokens', 'aria-label': texts.tokens });
    const whole = h('p', { class: 'written' });
    const notice = h('p', { class: 'notice' });
    const refused = refusal(chapter.frame.figure);
    const settings = together(temperature, topK, topP, seed, length);
    let showAgain: () => void = () => undefined;

    const optionsOf = () => {
      const { temperature: heat, topK: k, topP: p, seed: number, length: count } = section.values;
      return {
        maxTokens: count,
        temperature: heat,
        ...(k > 0 && { topK: k }),
        ...(p < 1 && { topP: p }),
        seed: number,
        logprobs: true,
      };
    };
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
      signal.addEventListener('abort', () => {
        own.isStopped = true;
      });
      showAgain();
      // Another model, another prompt: what is written would not be true of it.
      const isOver = (): boolean => sheet !== own || keyNow() !== started;
      try {
        const remote = await remoteBench();
        const all = await remote.read(prompt.values.ids);
        if (isOver()) return;
        if (all === undefined) {
          own.unknown = noId(prompt.values.ids);
          return;
        }
        const ids = all.slice(0, maxTokens);
        [own.given, own.all] = [ids, all.length];
        const options = optionsOf();
        const wish = wishOf(prompt.values, ready.facts);
        const begin = performance.now();
        let shownAt = begin;
        for await (const { token, logprob } of remote.generate(ids, wish, { ...options, signal })) {
          const [name] = await remote.names([token]);
          if (isOver()) break;
          own.written.push({ id: token, name: name ?? '', logprob: logprob ?? 0 });
          const now = performance.now();
          own.rate = (1000 * own.written.length) / (now - begin);
          progress(own.written.length / options.maxTokens);
          if (now - shownAt < showEvery) continue;
          shownAt = now;
          own.text = await remote.text([...ids, ...own.written.map(({ id }) => id)]);
          if (isOver()) break;
          showAgain();
        }
        own.text = await remote.text([...ids, ...own.written.map(({ id }) => id)]);
      } catch (error) {
        if (!signal.aborted) own.failure = error instanceof Error ? error.message : String(error);
      } finally {
        showAgain();
      }
    }

    // Only what is new is added: readers may have selected some of it.
    function showTokens({ written }: Sheet): void {
      if (list.children.length > written.length) list.replaceChildren();
      for (const { name } of written.slice(list.children.length)) {
        list.append(h('li', {}, h('bdi', {}, name)));
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
        const missing =
          ready === undefined
            ? texts.noModel
            : ready.facts.kind === 'encoder'
              ? texts.encoder
              : ready.facts.hasLogits
                ? ''
                : texts.noHead;
        const cut = all > maxTokens ? texts.tooMany(plain(maxTokens), plain(all)) : '';
        const told = unknown === undefined ? missing || cut : chapter.texts.look.noTokenizer(unknown);
        if (notice.textContent !== told) notice.textContent = told;
        // Where nothing can be written, there is nothing to set.
        settings.hidden = work.element.hidden = missing !== '';
        refused.show(sheet.failure);
        showTokens(sheet);
        whole.textContent = text;
        whole.hidden = text === '';
        list.hidden = written.length === 0;
        const isEmpty = rate === undefined || written.length === 0;
        const soFar =
          missing !== '' ? '' : isEmpty ? texts.notYet : texts.summary(plain(written.length), significant(rate, 2));
        const { logprobs: _, ...options } = optionsOf();
        const ids = sheet.given ?? itemsOf(prompt.values.ids).map(Number).filter(Number.isInteger).slice(0, maxTokens);
        return {
          summary: sheet.isStopped ? `${soFar} ${texts.stopped}` : soFar,
          isEmpty: missing !== '' || written.length === 0,
          code:
            missing !== ''
              ? ''
              : modelCode(
                  ready?.source ?? { kind: 'files' },
                  ready && wishOf(prompt.values, ready.facts),
                  `const options = ${literal({ ...options, logprobs: true })};
const result = [];
for await (const { token, logprob } of model.generate([${ids.join(', ')}], options)) {
  result.push([token, logprob]);
}`,
                ),
          table: () => [
            {
              caption: texts.table,
              corner: texts.place,
              columns: [texts.id, texts.logprob],
              rows: written.map(({ id, logprob }, i) => ({
                name: plain(ids.length + i),
                values: [id, logprob],
              })),
              print: (value) => significant(value, 4),
            },
          ],
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
