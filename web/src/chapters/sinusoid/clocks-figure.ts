// The pairs of a sinusoidal encoding as the hands of clocks.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider } from '../../figure/settings';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { button, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { dials } from '../../views/dials';
import type { Texts } from './i18n/en';
import { clockPeriods, clockRow } from './numbers';

const positions = whole(0, 400);
const stepsPerSecond = 8;
const calm = matchMedia('(prefers-reduced-motion: reduce)');

export function sinusoidClocks(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.clocks;
  const { plain, fixed, significant, measure } = chapter.numbers;
  const fields = { at: slider(texts.at, positions, 20, plain) };
  return figure(chapter, { name: 'clocks', caption: texts.caption }, fields, (section, { at }) => {
    const view = dials();
    const periods = clockPeriods(core);
    let timer: ReturnType<typeof setInterval> | undefined;
    const stop = (): void => {
      clearInterval(timer);
      timer = undefined;
      play.textContent = texts.play;
    };
    const play = button(texts.play, () => {
      if (timer !== undefined) {
        stop();
        return;
      }
      play.textContent = texts.pause;
      timer = setInterval(() => {
        const next = section.values.at + 1;
        if (next >= positions.length) stop();
        else section.set({ at: next }, 'at');
      }, 1000 / stepsPerSecond);
    });
    // Who asked for less motion has the slider.
    play.hidden = calm.matches;
    return {
      controls: [h('div', { class: 'row grow' }, at.element, play)],
      picture: [view.element],
      show(values) {
        const asked = clockRow(values.at);
        const row = core.sinusoidal(asked);
        const all = Array.from(periods, (period, i) => ({ period, sin: row[2 * i] ?? 0, cos: row[2 * i + 1] ?? 0 }));
        view.update(
          texts.label,
          all.map(({ sin, cos, period }, i) => ({
            name: texts.pair(plain(i)),
            note: measure(period),
            hands: [{ x: sin, y: cos, look: 'query' }],
            spoken: texts.spoken(plain(i), measure(period), fixed(sin, 2), fixed(cos, 2)),
          })),
        );
        const [fast, slow] = [all[0]?.period ?? 0, all.at(-1)?.period ?? 0];
        return {
          summary: texts.summary(plain(values.at), measure(values.at / fast), significant(values.at / slow, 2)),
          code: program(
            {},
            `// Sine and cosine of each clock.
const result = rw.sinusoidal(${literal(asked)});`,
          ),
          table: () => [
            {
              caption: texts.table(plain(values.at)),
              corner: texts.corner,
              columns: ['sin', 'cos'],
              rows: all.map(({ sin, cos }, i) => ({ name: plain(i), values: [sin, cos] })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
      end: stop,
    };
  });
}
