// The loss of a text by how many tokens are seen: within the length that the model was trained at and beyond it, with no
// scaling of its rotary encoding and with others.
import './length.css';
import type { LengthCurve } from 'ropewalk/models';
import { type Figure, figure } from '../../figure/figure';
import { type Setting, slider, together } from '../../figure/settings';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { textControl, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import { text } from '../../ui/state';
import { lineChart } from '../../views/line-chart';
import { workControl } from '../../views/work-control';
import type { LengthWish } from './bench';
import type { DecoderState, Playground } from './decoder-state';
import { noId } from './items';
import { shown } from './lengths.js?shown';
import passage from './model/passage.txt?url';

const lengths = [64, 128, 256, 512, 1024, 2048];
const factors = [2, 4, 8, 16];
const mostPoints = 8;
const maxText = 8000; // characters
const usualLength = 2048; // of a model whose config tells none
const looks = { none: 'quiet', linear: 'key', ntk: 'third', yarn: 'query' } as const;
type Name = keyof typeof looks;

/** What was measured, of what; also for the figure of another language. */
interface Measured {
  readonly key: string;
  wish?: LengthWish;
  curves?: readonly LengthCurve[];
  /** What is no id. */
  unknown?: string;
  failure?: string;
}
let measured: Measured | undefined;

async function fetched(signal: AbortSignal): Promise<string> {
  const answer = await fetch(passage, { signal });
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${answer.statusText}`);
  return answer.text();
}

const area = (label: string): Setting<string> => ({
  ...text(maxText, ''),
  isGradual: true,
  control: (changed) => textControl(label, maxText, changed, 3),
});

export function lengthFigure(chapter: DecoderState, { session, remoteBench }: Playground): Figure {
  const texts = chapter.texts.length;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    text: area(texts.text(plain(maxText))),
    length: slider(texts.length, lengths, 512, plain),
    factor: slider(chapter.texts.factor, factors, 4, plain),
  };
  const options = { name: 'length', caption: texts.caption };
  return figure(chapter, options, fields, (section, controls) => {
    const chart = lineChart(260);
    const notice = h('p', { class: 'notice', role: 'status' });
    const refused = refusal(chapter.frame.figure);
    let showAgain: () => void = () => undefined;

    const trainedLength = (): number => session.ready?.facts.maxLength ?? usualLength;
    const keyNow = (): string => {
      const { text, length, factor } = section.values;
      return JSON.stringify([session.ready?.number, text, length, factor]);
    };

    async function measure(own: Measured, signal: AbortSignal, progress: (share: number) => void): Promise<void> {
      const { text, length, factor } = section.values;
      const remote = await remoteBench();
      const written = text.trim() === '' ? await fetched(signal) : text;
      const ids = await remote.read(written);
      if (ids === undefined) {
        own.unknown = noId(written);
        return;
      }
      const points = Math.min(mostPoints, length - 1, ids.length - 1);
      own.wish = { ids, factor, trained: trainedLength(), length, points };
      if (points >= 1) own.curves = await remote.lengths(own.wish, signal, progress);
    }

    const run = { ...chapter.frame.figure, run: texts.run };
    const work = workControl(run, plain, async (signal, progress) => {
      const own: Measured = { key: keyNow() };
      measured = own;
      showAgain();
      try {
        await measure(own, signal, progress);
      } catch (error) {
        // What was cancelled leaves nothing.
        if (signal.aborted) throw error;
        own.failure = error instanceof Error ? error.message : String(error);
      } finally {
        showAgain();
      }
    });

    // What prevents the curves, or what they do not show.
    function noticeOf({ wish, unknown }: Measured): string {
      if (unknown !== undefined) return chapter.texts.look.noTokenizer(unknown);
      if (wish === undefined) return '';
      const count = plain(wish.ids.length);
      if (wish.points < 1) return texts.short;
      if (Math.min(wish.length, wish.ids.length) <= wish.trained) {
        const [trained, length] = [plain(wish.trained), plain(wish.length)];
        return wish.length <= wish.trained ? texts.within(length, trained) : texts.shorter(count, trained);
      }
      return wish.ids.length < wish.length ? texts.ends(count, plain(wish.length)) : '';
    }

    function draw({ length, trained }: LengthWish, curves: readonly LengthCurve[]): void {
      const losses = curves.flatMap(({ points }) => points.map(({ loss }) => loss));
      const [least, most] = [Math.floor(Math.min(...losses)), Math.ceil(Math.max(...losses))];
      chart.update({
        label: texts.label,
        x: { title: texts.x, min: 0, max: length, ticks: whole(0, 4).map((i) => (i * length) / 4), print: plain },
        y: { title: texts.y, min: least, max: most, ticks: whole(least, most), print: plain },
        marks: trained < length ? [{ x: trained, name: texts.trained(plain(trained)), look: 'limit' }] : [],
        series: curves.map(({ name, points }) => ({
          name: texts.scalings[name as Name],
          look: looks[name as Name],
          kind: points.length > 1 ? 'line' : 'dots',
          points: points.map(({ first, last, loss }) => [(first + last) / 2, loss] as const),
        })),
      });
    }

    function summaryOf({ trained, ids }: LengthWish, curves: readonly LengthCurve[]): string {
      const [first] = curves;
      const last = first?.points.at(-1);
      if (last === undefined) return '';
      const at = curves.map(({ name, points }) =>
        texts.one(texts.scalings[name as Name], fixed(points.at(-1)?.loss ?? 0, 2)),
      );
      return texts.summary(plain(ids.length), plain(trained), plain(last.first), plain(last.last), at);
    }

    const codeOf = ({ ids, factor, trained, length, points }: LengthWish): string =>
      program(
        { ...session.ready?.origin.shown, ...shown },
        `${session.ready?.origin.lines}
const model = await loadModel(rw, { config, weights });
const ids = [${ids.join(', ')}];
const curves = await lossesByLength(model, ids, ${factor}, ${trained}, ${literal({ length, points })});
// By range, then by scaling.
const result = curves[0].points.flatMap((_, i) => curves.map(({ points }) => points[i].loss));`,
        "import { load } from 'ropewalk';\nimport { lengthCurve, loadModel } from 'ropewalk/models';",
      );

    const stop = session.subscribe(() => showAgain());
    return {
      controls: [
        controls.text.element,
        together(controls.length, controls.factor),
        notice,
        refused.element,
        work.element,
      ],
      picture: [chart.element],
      again(show) {
        showAgain = show;
      },
      show() {
        if (measured !== undefined && keyNow() !== measured.key) {
          work.cancel();
          measured = undefined;
        }
        const { wish, curves, failure } = measured ?? {};
        const told = measured === undefined ? '' : noticeOf(measured);
        if (notice.textContent !== told) notice.textContent = told;
        refused.show(failure);
        chart.element.hidden = curves === undefined;
        if (curves === undefined || wish === undefined) {
          return { summary: texts.notYet, code: '', table: () => [], isEmpty: true };
        }
        draw(wish, curves);
        return {
          summary: summaryOf(wish, curves),
          code: codeOf(wish),
          table: () => [
            {
              caption: texts.label,
              corner: texts.x,
              columns: curves.map(({ name }) => texts.scalings[name as Name]),
              rows: (curves[0]?.points ?? []).map(({ first, last }, i) => ({
                name: texts.range(plain(first), plain(last)),
                values: curves.map(({ points }) => points[i]?.loss),
              })),
              print: (value) => fixed(value, 3),
            },
          ],
        };
      },
      reset() {
        work.cancel();
        measured = undefined;
        showAgain();
      },
      end() {
        work.cancel();
        stop();
        chart.destroy();
      },
    };
  });
}
