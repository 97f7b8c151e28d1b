// What a text costs the trained model as it is, and with other positions.
import './damage.css';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider } from '../../figure/settings';
import { program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import { type Field, text } from '../../ui/state';
import { isDark } from '../../ui/theme';
import { colorOf, inkOn } from '../../views/color-scale';
import { type NumberTableData, numberTable } from '../../views/number-table';
import { latest } from '../../work/latest';
import type { DecoderState, Playground } from './decoder-state';
import type { Losses } from './losses';
import { shown } from './losses.js?shown';

const changes = ['shuffled', 'none', 'pairing', 'base', 'linear', 'ntk', 'yarn'] as const;
const rows = ['own', ...changes] as const;
const seeds = whole(1, 20);
/** Tokens that the model was trained with. */
const maxTokens = 128;

interface Seen {
  readonly ids: readonly number[];
  readonly names: readonly string[];
  readonly seed: number;
  readonly losses: Losses;
}

// From this loss on a token has the last colour of the scale.
const mostLoss = 10;

// Tokens are spelled with a sign for the space before a word.
const readable = (name: string): string => name.replaceAll('␣', ' ');

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;

export function damageFigure(chapter: DecoderState, { session, remoteBench }: Playground): Figure {
  const texts = chapter.texts.damage;
  const { plain, fixed } = chapter.numbers;
  // The text is that of the maps; at first, and after Reset, one for this model.
  const ids: Field<string | undefined> = { ...text(400, ''), initial: undefined };
  const prompt = chapter.section('look', { ids });
  const isTrained = (): boolean => session.ready?.source.kind === 'trained';
  const fill = (): void => {
    if (prompt.values.ids === undefined && isTrained()) prompt.amend({ ids: chapter.texts.sample });
  };
  fill();
  const fields = {
    change: oneName(texts.change, changes, 'shuffled', (name) => texts.changes[name]),
    seed: slider(chapter.texts.seed, seeds, 1, plain),
  };
  const options = { name: 'damage', caption: texts.caption };
  return figure(chapter, options, fields, (section, { change, seed }) => {
    const marked = h('div', { class: 'marked-texts' });
    const table = numberTable();
    const refused = refusal(chapter.frame.figure);
    const notice = h('p', { class: 'notice', role: 'status' });
    let showAgain: () => void = () => undefined;
    let seen: Seen | undefined;
    let failure: string | undefined;

    const wishNow = (): string => {
      return isTrained() ? JSON.stringify([session.ready?.number, prompt.values.ids, section.values.seed]) : '';
    };
    const work = latest(
      wishNow,
      async () => {
        [seen, failure] = [undefined, undefined];
        if (wishNow() === '') return;
        const own = section.values.seed;
        try {
          const remote = await remoteBench();
          const ids = (await remote.read(prompt.values.ids ?? ''))?.slice(0, maxTokens) ?? [];
          if (ids.length < 2) return;
          seen = { ids, seed: own, names: await remote.names(ids), losses: await remote.losses(ids, own) };
        } catch (error) {
          failure = error instanceof Error ? error.message : String(error);
        }
      },
      () => showAgain(),
    );

    function tablesOf({ losses, names }: Seen, changed: (typeof changes)[number]): NumberTableData[] {
      return [
        {
          caption: texts.table,
          corner: texts.corner,
          columns: [texts.loss, texts.perplexity],
          rows: rows.map((name) => {
            const loss = mean(losses[name]);
            return { name: texts.changes[name], values: [loss, Math.exp(loss)] };
          }),
          print: (value) => fixed(value, 2),
        },
        {
          caption: texts.tokens,
          corner: texts.token,
          columns: [texts.changes.own, texts.changes[changed]],
          rows: losses.own.map((loss, i) => ({
            name: `${plain(i + 1)} · ${names[i + 1] ?? ''}`,
            values: [loss, losses[changed][i]],
          })),
          print: (value) => fixed(value, 3),
        },
      ];
    }

    // The text, each token on the colour of its loss; the first has none.
    function markedText({ losses, names }: Seen, row: (typeof rows)[number]): HTMLElement[] {
      const label = texts.mean(texts.changes[row], fixed(mean(losses[row]), 2));
      const tokens = names.map((name, i) => {
        const loss = losses[row][i - 1];
        const token = h('li', { title: loss === undefined ? '' : fixed(loss, 2) }, readable(name));
        const share = Math.min((loss ?? 0) / mostLoss, 1);
        token.style.setProperty('background', colorOf(share, isDark(), 'sequential'));
        token.style.setProperty('color', inkOn(share, isDark(), 'sequential'));
        return token;
      });
      return [h('p', { class: 'strip-title' }, label), h('ol', { 'aria-label': label }, ...tokens)];
    }

    const codeOf = ({ ids, seed: own }: Seen, changed: string): string =>
      program(
        shown,
        `${session.ready?.origin.lines}
const model = await loadModel(rw, { config, weights });
const losses = await lossesByChange(model, [${ids.join(', ')}], ${own});
const result = Object.values(losses).flatMap((all) => {
  const loss = all.reduce((sum, each) => sum + each, 0) / all.length;
  return [loss, Math.exp(loss)];
});
losses.own.forEach((loss, i) => result.push(loss, losses.${changed}[i]));`,
        "import { load } from 'ropewalk';\nimport { loadModel } from 'ropewalk/models';",
      );

    const follow = (): void => {
      fill();
      showAgain();
    };
    const stops = [session.subscribe(follow), prompt.subscribe(follow)];
    return {
      controls: [change.element, seed.element, notice, refused.element],
      picture: [marked, table.element],
      again(show) {
        showAgain = show;
      },
      show(values) {
        void work.follow();
        seed.element.hidden = values.change !== 'shuffled';
        refused.show(failure);
        const told = seen === undefined && failure === undefined && !work.isBehind ? texts.short : '';
        if (notice.textContent !== told) notice.textContent = told;
        marked.hidden = table.element.hidden = seen === undefined;
        if (seen === undefined) {
          return { summary: '', code: '', table: () => [], isEmpty: true, isBehind: work.isBehind };
        }
        const now = seen;
        const all = tablesOf(now, values.change);
        marked.replaceChildren(...(['own', values.change] as const).flatMap((name) => markedText(now, name)));
        if (all[0] !== undefined) table.update(all[0]);
        const [before, after] = [mean(now.losses.own), mean(now.losses[values.change])];
        return {
          summary: texts.summary(
            texts.changes[values.change],
            fixed(before, 2),
            fixed(after, 2),
            fixed(Math.exp(after - before), 1),
          ),
          code: codeOf(now, values.change),
          table: () => all,
          isBehind: work.isBehind,
        };
      },
      end() {
        for (const stop of stops) stop();
        work.end();
      },
    };
  });
}
