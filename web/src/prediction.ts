// A question to answer before looking: the explanation comes with the first answer, right or wrong.
import type { ChapterState } from './chapters/chapter';
import { button } from './controls';
import { h } from './dom';
import { richText } from './rich-text';

export interface Question {
  readonly question: string;
  readonly answers: readonly string[];
  /** Which of the answers is right. */
  readonly right: number;
  readonly explanation: string;
}

// By question; a reader who changes the language has answered.
const answered = new Map<string, number>();

/** @param name of the question, within its chapter. */
export function prediction(chapter: ChapterState, asked: Question, name = ''): HTMLElement {
  const texts = chapter.texts.figure;
  const key = `${chapter.id} ${name}`;
  const verdict = h('p', { class: 'verdict', role: 'status' });
  const answer = (i: number): void => {
    answered.set(key, i);
    for (const [j, other] of buttons.entries()) {
      other.setAttribute('aria-pressed', String(j === i));
      other.classList.toggle('right', j === asked.right);
    }
    const word = h('strong', {}, i === asked.right ? texts.right : texts.wrong);
    verdict.replaceChildren(word, ...richText(asked.explanation));
  };
  const buttons = asked.answers.map((_, i) => button('', () => answer(i), 'answer'));
  for (const [i, words] of asked.answers.entries()) buttons[i]?.append(...richText(words));
  const before = answered.get(key);
  if (before !== undefined) answer(before);
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
