// A model that learns a text, character by character: its loss by encoding, and what it writes.
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider, together } from '../../figure/settings';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import recorded from '../../recorded/further.json';
import { textEvery, textSteps } from '../../recorded/further-course';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { shown } from './further-programs.js?shown';
import type { FurtherState, Shared } from './further-state';
import type { TextLook } from './lab';
import novel from './text/novel.txt?url';
import type { TrainingSession } from './training-session';

const encodings = ['none', 'learned', 'sinusoidal', 'alibi', 'rope'] as const;
const steps = whole(0, textSteps, textEvery);

interface Input {
  readonly encoding: (typeof encodings)[number];
  readonly seed: number;
}

const address = (): string => new URL(novel, location.href).href;

let text: Promise<string> | undefined;

async function fetched(): Promise<string> {
  const answer = await fetch(novel);
  if (!answer.ok) throw new Error(`${address()}: ${answer.status} ${answer.statusText}`);
  return answer.text();
}

// Fetched when training begins.
function novelText(): Promise<string> {
  text ??= fetched().catch((error: unknown) => {
    // The next one who asks may have a network again.
    text = undefined;
    throw error;
  });
  return text;
}

// It outlives its figure, which is made anew for each language.
let session: TrainingSession<Input, TextLook> | undefined;

export const pauseText = (): void => session?.pause();

const codeOf = ({ encoding, seed }: Input, trained: number): string =>
  program(
    shown,
    `const text = await (await fetch(${literal(address())})).text();
const looks = train(textModel(rw, text, ${literal(encoding)}, ${seed}), ${trained}, ${textEvery});
const result = looks.map(({ loss }) => loss);`,
    "import { charactersTask, load } from 'ropewalk/training';",
    'load()',
  );

export function labText(
  chapter: FurtherState,
  { liveRun, paceOf, recordedPoints, seeds, TrainingSession }: Shared,
): Figure {
  const texts = chapter.texts.text;
  const names = chapter.texts.encodings;
  const { plain, fixed } = chapter.numbers;
  session ??= new TrainingSession(
    textSteps,
    async (lab, input) => lab.text({ ...input, text: await novelText() }),
    textEvery,
  );
  const own = session;
  const fields = {
    encoding: oneName(texts.encoding, encodings, 'rope', (value) => names[value]),
    seed: slider(chapter.texts.seed, seeds, 1, plain),
    pace: paceOf(chapter),
  };
  const options = { name: 'text', caption: texts.caption, wide: true };
  return figure(chapter, options, fields, (section, { encoding, seed, pace }) => {
    const inputOf = (): Input => ({ encoding: section.values.encoding, seed: section.values.seed });
    const live = liveRun(chapter, own, steps, inputOf);
    const sample = h('p', { class: 'passage', lang: 'en' });
    return {
      controls: [encoding.element, together(seed, pace), live.control],
      picture: [live.panels.element, sample],
      ...live.hooks,
      show({ encoding, pace }) {
        live.follow(pace);
        const { looks } = own;
        const last = Math.max(0, looks.length - 1);
        const told = live.at === undefined ? last : Math.min(live.at / textEvery, last);
        const look = looks[told];
        sample.textContent = look?.written ?? '';
        live.panels.update({
          label: texts.label,
          x: { title: chapter.texts.steps, min: 0, max: textSteps, ticks: [], print: plain },
          y: { title: texts.y, min: 1, max: 4, ticks: whole(1, 4), print: plain },
          names: { now: chapter.texts.now, before: chapter.texts.before },
          at: live.at,
          panels: encodings.map((each) => {
            const before = recordedPoints(recorded.text[each], textSteps);
            const value =
              each === encoding && look !== undefined
                ? look.loss
                : before[live.at === undefined ? before.length - 1 : live.at / textEvery]?.[1];
            return {
              name: names[each],
              reading: value === undefined ? '' : fixed(value, 2),
              now: each === encoding ? looks.map(({ loss }, n) => [n * textEvery, loss] as const) : [],
              before,
            };
          }),
        });
        return {
          summary:
            look === undefined
              ? texts.notYet
              : texts.summary(
                  names[encoding],
                  plain(told * textEvery),
                  fixed(look.loss, 2),
                  fixed(Math.exp(look.loss), 1),
                ),
          isEmpty: look === undefined,
          code: codeOf(inputOf(), look === undefined ? textSteps : last * textEvery),
          table: () => [
            {
              caption: texts.label,
              corner: chapter.texts.steps,
              columns: [names[encoding]],
              rows: looks.map(({ loss }, n) => ({ name: plain(n * textEvery), values: [loss] })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
    };
  });
}
