// Attention of the reader's model: maps of any layer and head for some tokens, with its own encoding or another one, and
// the tokens that it holds likeliest.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import type { Numbers } from '../../i18n/language';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import { type NumberTableData, numberTable } from '../../views/number-table';
import { workBar } from '../../views/work-bar';
import { latest } from '../../work/latest';
import type { Look, RopeWish } from './bench';
import type { Texts } from './i18n/en';
import { itemsOf, noId } from './items';
import { modelCode } from './model-code';
import { isScaled, type LookValues, lookSettings, maxTokens, wishOf } from './rope-wish';
import { resultCode, scoreMaps, showHead } from './score-maps';
import { hides, rootMeanSquare } from './score-parts';
import { type Ready, remoteBench, session } from './session';

/** What came of one wish. */
interface Seen {
  readonly ready: Ready;
  readonly ids: readonly number[];
  readonly words: readonly string[];
  /** How many tokens there were before the rest was cut off. */
  readonly given: number;
  readonly layer: number;
  readonly at: number;
  readonly wish: RopeWish;
  readonly look: Look;
  readonly topNames: readonly string[];
}

type Outcome =
  | { readonly seen: Seen }
  | { readonly unknown: string }
  | { readonly refused: string }
  | { readonly cancelled: true };

// Milliseconds; what is faster needs no bar.
const unnoticed = 300;

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function see(
  ready: Ready,
  values: LookValues,
  signal: AbortSignal,
  told: (share: number) => void,
): Promise<Outcome> {
  try {
    const remote = await remoteBench();
    const all = await remote.read(values.ids);
    if (all === undefined) return { unknown: noId(values.ids) };
    const ids = all.slice(0, maxTokens);
    const layer = Math.min(values.layer, ready.facts.layers) - 1;
    const at = Math.min(values.at, ids.length) - 1;
    const wish = wishOf(values, ready.facts);
    const look = await remote.look({ ids, layer, at, wish }, signal, told);
    const names = await remote.names([...ids, ...look.top.map(({ id }) => id)]);
    const [words, topNames] = [names.slice(0, ids.length), names.slice(ids.length)];
    session.remember(look.memory);
    return { seen: { ready, ids, words, given: all.length, layer, at, wish, look, topNames } };
  } catch (error) {
    return signal.aborted ? { cancelled: true } : { refused: said(error) };
  }
}

export function lookCode({ ready, ids, layer, at, wish }: Seen, result: string): string {
  return modelCode(
    ready,
    wish,
    `const ids = [${ids.join(', ')}];
const T = ids.length;
const { scores, top } = await lookAt(model, own, ids, ${layer}, ${at});
${result}
for (const { probability, own: before } of top) result.push([probability, before]);`,
  );
}

function topTable(
  texts: Texts['look'],
  { plain, fixed }: Numbers,
  { look, topNames, at: place, ready }: Seen,
): NumberTableData {
  const isEncoder = ready.facts.kind === 'encoder';
  return {
    caption: (isEncoder ? texts.topIn : texts.topAfter)(plain(place)),
    corner: texts.token,
    columns: [texts.probability, texts.ownProbability],
    rows: look.top.map(({ probability, own }, i) => ({ name: topNames[i] ?? '', values: [probability, own] })),
    print: (value) => fixed(value, 4),
  };
}

function summaryOf(
  texts: Texts['look'],
  { plain, fixed, significant }: Numbers,
  { look, layer: shownLayer, ready, wish: changed }: Seen,
): string {
  const T = Math.sqrt(look.scores.biased.length / ready.facts.heads);
  const isHidden = hides(look);
  const spread = (part: Float32Array): string =>
    fixed(rootMeanSquare([part.map((value, i) => (isHidden(Math.floor(i / T) % T, i % T) ? Number.NaN : value))]), 2);
  const [name, content] = [plain(shownLayer + 1), spread(look.scores.content)];
  const isStill = look.scores.position.every((value) => !(Math.abs(value) > 0));
  const parts = isStill ? texts.summaryNone(name, content) : texts.summary(name, content, spread(look.scores.position));
  if (changed === undefined) return parts;
  return look.difference === 0 ? texts.unchanged(parts) : texts.changed(parts, significant(look.difference, 2));
}

// What prevents a picture, or was left out.
function noticeOf(
  { texts: { look: texts }, frame, numbers: { plain } }: ChapterState<Texts>,
  ready: Ready | undefined,
  outcome: Outcome | undefined,
  items: readonly string[],
): string {
  if (ready === undefined) return texts.noModel;
  if (outcome !== undefined && 'cancelled' in outcome) return frame.figure.cancelled;
  if (outcome !== undefined && 'unknown' in outcome) return texts.noTokenizer(outcome.unknown);
  if (items.length === 0) return texts.empty;
  const given = outcome !== undefined && 'seen' in outcome ? outcome.seen.given : 0;
  if (given > maxTokens) return texts.tooMany(plain(maxTokens), plain(given));
  return ready.facts.position === 'rope' ? '' : texts.notRotary(ready.facts.position);
}

export function playgroundLook(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.look;
  const common = chapter.texts;
  const { plain } = chapter.numbers;
  const fields = lookSettings(common, plain);
  return figure(chapter, { name: 'look', caption: texts.caption, wide: true }, fields, (section, controls) => {
    const { ids, layer, at, wish, base, factor, view, head } = controls;
    const maps = scoreMaps(common.scores, chapter.frame.figure, chapter.numbers);
    const top = numberTable();
    const likely = h('div', { class: 'likely' }, top.element);
    const notice = h('p', { class: 'notice', role: 'status' });
    const refused = refusal(chapter.frame.figure);
    const input = h('div', { class: 'settings' }, ids.element);
    const encoding = h('div', { class: 'settings' }, wish.element, factor.element);
    const shown = h('div', { class: 'settings' }, layer.element, head.element);
    const rest = more(chapter.frame, view.element, h('div', { class: 'settings' }, base.element, at.element));
    const settings = h('div', { class: 'controls' }, encoding, shown, rest);
    let showAgain: () => void = () => undefined;
    let outcome: Outcome | undefined;
    const wishNow = (): string => {
      const { view: _, head: __, table: ___, ...values } = section.values;
      return session.ready === undefined ? '' : JSON.stringify([session.ready.number, values]);
    };
    const look = async (signal: AbortSignal, isWanted: () => boolean): Promise<void> => {
      const { ready } = session;
      const { values } = section;
      let done = 0;
      let isNoticed = false;
      const told = (share: number): void => {
        done = share;
        if (isNoticed) bar.show(done);
      };
      const timer = setTimeout(() => {
        isNoticed = true;
        bar.show(done);
      }, unnoticed);
      const isNothing = ready === undefined || itemsOf(values.ids).length === 0;
      const next = isNothing ? undefined : await see(ready, values, signal, told);
      clearTimeout(timer);
      bar.show(undefined);
      // What became of a wish that has passed is shown where it is a picture; a slider is moving.
      if (isWanted() || (next !== undefined && 'seen' in next)) outcome = next;
    };
    const work = latest(wishNow, look, () => showAgain());
    const bar = workBar(chapter.frame.figure, texts.caption, plain, () => work.cancel());

    const stop = session.subscribe(() => showAgain());
    return {
      controls: [input, notice, refused.element, settings, bar.element],
      picture: [maps.element, likely],
      again(show) {
        showAgain = show;
      },
      show(values) {
        void work.follow();
        const { ready } = session;
        const items = itemsOf(values.ids);
        const seen = ready !== undefined && outcome !== undefined && 'seen' in outcome ? outcome.seen : undefined;
        layer.show(values.layer, ready?.facts.layers ?? 1);
        at.show(values.at, seen?.ids.length ?? Math.min(items.length, maxTokens));
        showHead(head, values, ready?.facts.heads ?? 1);
        encoding.hidden = ready !== undefined && ready.facts.position !== 'rope';
        base.element.hidden = values.wish === 'none';
        factor.element.hidden = !isScaled(values.wish);
        const isNow = seen?.ready.number === ready?.number;
        const told = noticeOf(chapter, ready, outcome, items);
        if (notice.textContent !== told) notice.textContent = told;
        // Without a model there is nothing to set.
        input.hidden = settings.hidden = ready === undefined;
        refused.show(outcome !== undefined && 'refused' in outcome ? outcome.refused : undefined);
        const current = isNow ? seen : undefined;
        maps.element.hidden = current === undefined;
        likely.hidden = current === undefined || !current.ready.facts.hasLogits;
        if (current === undefined) {
          return { summary: '', code: '', table: () => [], isEmpty: true, isBehind: work.isBehind };
        }
        const heads = current.ready.facts.heads;
        const headAt = Math.min(values.head, heads) - 1;
        const { look, words } = current;
        maps.update({ scores: look.scores, view: values.view, head: headAt, heads, words, isHidden: hides(look) });
        const tables = current.ready.facts.hasLogits ? [topTable(texts, chapter.numbers, current)] : [];
        for (const table of tables) top.update(table);
        const result = resultCode(values.view, headAt, heads);
        return {
          summary: summaryOf(texts, chapter.numbers, current),
          code: lookCode(current, result),
          table: () => [...maps.tables(), ...tables],
          isBehind: work.isBehind,
        };
      },
      end() {
        stop();
        work.end();
        maps.destroy();
      },
    };
  });
}
