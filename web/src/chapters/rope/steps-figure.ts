// The derivation of RoPE, one step at a time: a formula, what it means, and arrows that turn.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { button, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { formula, richText } from '../../ui/rich-text';
import { integer } from '../../ui/state';
import { type TurningArrow, turningArrows } from '../../views/turning-arrows';
import type { Texts } from './i18n/en';
import { derivation } from './programs';
import { shown } from './programs.js?shown';
import { mathml as angle } from './step-angle.tex';
import { mathml as answer } from './step-answer.tex';
import { mathml as assumption } from './step-assumption.tex';
import { mathml as length } from './step-length.tex';
import { mathml as product } from './step-product.tex';
import { mathml as speed } from './step-speed.tex';
import { mathml as wish } from './wish.tex';

// In the order of the steps.
const formulas = [wish, product, assumption, length, angle, speed, answer];
const steps = formulas.length;
const at = { product: 2, assumption: 3, length: 4, angle: 5, speed: 6, answer: 7 };
const farthest = 12;
const positions = whole(0, farthest);

type Made = ReturnType<typeof derivation>;
const rowNames = ['query', 'key', 'product', 'turnedQuery', 'turnedKey', 'turnedProduct'] as const;

// What is drawn at a step. Arrows that are not shown wait where they will turn from.
function arrowsAt(step: number, made: Made, m: number, n: number): TurningArrow[] {
  const isTurned = step >= at.angle;
  const isAnswer = step === at.answer;
  const arrow = (
    name: string,
    label: string,
    look: TurningArrow['look'],
    [x = 0, y = 0]: readonly number[],
    turns: number,
    more: Partial<TurningArrow>,
  ): TurningArrow => ({
    ...{ name, label, look, isFaint: false, isShown: true, hasShadow: false, hasCircle: false },
    angle: Math.atan2(y, x) + turns * made.frequency,
    length: Math.hypot(x, y),
    ...more,
  });
  const { query, key, product } = made;
  const mirrored = [product[0] ?? 0, -(product[1] ?? 0)];
  const way = { isFaint: true, isShown: step === at.speed };
  const isProduct = step === at.product || step === at.assumption;
  return [
    ...positions.map((i) =>
      arrow(`way ${i}`, '', 'query', query, i, { ...way, isShown: way.isShown && i > 0 && i < m }),
    ),
    arrow('set query', 'q', 'query', query, 0, { isFaint: isTurned, hasCircle: step === at.length }),
    arrow('set key', 'k', 'key', key, 0, {
      isFaint: isTurned,
      isShown: step !== at.speed,
      hasCircle: step === at.length,
    }),
    arrow('query', 'f(q, m)', 'query', query, isTurned ? m : 0, { isShown: isTurned }),
    // At the step of the angle both stand at the same position.
    arrow('key', step === at.angle ? 'f(k, m)' : 'f(k, n)', 'key', key, isAnswer ? n : isTurned ? m : 0, {
      isShown: step === at.angle || isAnswer,
    }),
    arrow('mirrored', '', 'third', mirrored, 0, {
      isFaint: true,
      isShown: step === at.assumption,
      hasShadow: step === at.assumption,
    }),
    arrow('product', isAnswer ? 'g' : 'qk*', 'third', product, isAnswer ? m - n : 0, {
      isShown: isProduct || isAnswer,
      hasShadow: isProduct || isAnswer,
    }),
  ];
}

export function ropeSteps(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.derivation;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    step: integer(1, steps, 1),
    m: slider(texts.m, positions, 5, plain, 'query'),
    n: slider(texts.n, positions, 2, plain, 'key'),
  };
  return figure(chapter, { name: 'steps', caption: texts.caption, wide: true }, fields, (section, { m, n }) => {
    const arrows = turningArrows();
    const told = h('div', { class: 'side steps-told' });
    const go = (by: number): void => section.set({ step: section.values.step + by });
    const back = button(texts.back, () => go(-1));
    const next = button(texts.next, () => go(1));
    const place = h('span');
    return {
      controls: [h('div', { class: 'steps-walk' }, back, next, place), together(m, n)],
      picture: [h('div', { class: 'rotation' }, arrows.element, told)],
      show(values) {
        const { step } = values;
        const made = derivation(core, values.m, values.n);
        const [title = '', note = ''] = texts.steps[step - 1] ?? [];
        back.disabled = step === 1;
        next.disabled = step === steps;
        // A button that can no longer be pressed hands the focus to the other.
        if (document.activeElement === back && back.disabled) next.focus();
        if (document.activeElement === next && next.disabled) back.focus();
        m.element.hidden = step < at.angle;
        n.element.hidden = step < at.answer;
        place.textContent = texts.place(plain(step), plain(steps));
        told.replaceChildren(
          h('p', { class: 'steps-title' }, title),
          formula(formulas[step - 1] ?? ''),
          h('p', {}, ...richText(note)),
        );
        const isAnswer = step === at.answer;
        const score = fixed((isAnswer ? made.turnedProduct : made.product)[0] ?? 0, 4);
        arrows.update(texts.label, arrowsAt(step, made, values.m, values.n));
        return {
          summary: isAnswer
            ? texts.atDistance(plain(values.m - values.n), score)
            : texts.summary(plain(step), title, score),
          code: program(
            shown,
            `const made = ${call('derivation', values.m, values.n)};
const result = [${rowNames.map((name) => `...made.${name}`).join(', ')}];`,
          ),
          table: () => [
            {
              caption: texts.table,
              corner: texts.arrow,
              columns: texts.columns,
              rows: rowNames.map((name) => ({ name: texts.rows[name], values: made[name] })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
    };
  });
}
