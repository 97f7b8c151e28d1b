// A question to answer before looking: the explanation comes with the first answer, right or wrong.
import { button } from './controls';
import { h } from './dom';
import type { FrameTexts } from './i18n/dictionary';
import { richText } from './rich-text';

export interface Question {
  readonly question: string;
  readonly answers: readonly string[];
  /** Which of the answers is right. */
  readonly right: number;
  readonly explanation: string;
}

export function prediction(texts: FrameTexts['figure'], asked: Question): HTMLElement {
  const verdict = h('p', { class: 'verdict', role: 'status' });
  const buttons = asked.answers.map((_, i) =>
    button(
      '',
      () => {
        for (const [j, other] of buttons.entries()) {
          other.setAttribute('aria-pressed', String(j === i));
          other.classList.toggle('right', j === asked.right);
        }
        const word = h('strong', {}, i === asked.right ? texts.right : texts.wrong);
        verdict.replaceChildren(word, ...richText(asked.explanation));
      },
      'answer',
    ),
  );
  for (const [i, answer] of asked.answers.entries()) buttons[i]?.append(...richText(answer));
  return h(
    'div',
    { class: 'prose' },
    h(
      'div',
      { class: 'prediction', role: 'group', 'aria-label': texts.predict },
      h('p', { class: 'kicker' }, texts.predict),
      h('p', {}, ...richText(asked.question)),
      h('div', { class: 'answers' }, ...buttons),
      verdict,
    ),
  );
}
