// A question to answer before looking: the explanation comes with the first answer, right or wrong.
import { button } from './controls';
import { h } from './dom';
import type { Dictionary } from './i18n/dictionary';
import { richText } from './rich-text';

export function prediction(
  texts: Dictionary['figure'],
  asked: {
    readonly question: string;
    readonly answers: readonly string[];
    readonly explanation: string;
    readonly right: number;
  },
): HTMLElement {
  const verdict = h('p', { class: 'verdict', role: 'status' });
  const buttons = asked.answers.map((answer, i) =>
    button(
      answer,
      () => {
        for (const [j, other] of buttons.entries()) {
          other.setAttribute('aria-pressed', String(j === i));
          other.classList.toggle('right', j === asked.right);
        }
        const word = h('strong', {}, i === asked.right ? texts.right : texts.wrong);
        verdict.replaceChildren(word, ' ', ...richText(asked.explanation));
      },
      'answer',
    ),
  );
  return h(
    'aside',
    { class: 'prediction' },
    h('p', { class: 'kicker' }, texts.predict),
    h('p', {}, ...richText(asked.question)),
    h('div', { class: 'answers' }, ...buttons),
    verdict,
  );
}
