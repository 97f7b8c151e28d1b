// A question to answer before looking: the explanation comes with the first answer, right or wrong, and with a wrong one
// what speaks against it.

import { button } from '../ui/controls';
import { h } from '../ui/dom';
import { richText } from '../ui/rich-text';
import type { ChapterState } from './chapter';

export interface Question {
  readonly question: string;
  /** The text of each; after a wrong one, the reason why it is wrong. */
  readonly answers: readonly (readonly string[])[];
  readonly explanation: string;
}

// By question; a reader who changes the language has answered.
const answered = new Map<string, number>();

/** @param name of the question, within its chapter. */
export function prediction(chapter: ChapterState, asked: Question, name = ''): HTMLElement {
  const words = chapter.frame.figure;
  const key = `${chapter.id} ${name}`;
  const verdict = h('div', { class: 'verdict', role: 'status' });
  const right = asked.answers.findIndex(([, against]) => against === undefined);
  const answer = (i: number): void => {
    answered.set(key, i);
    for (const [j, other] of buttons.entries()) {
      other.setAttribute('aria-pressed', String(j === i));
      other.classList.toggle('right', j === right);
    }
    const [, against] = asked.answers[i] ?? [];
    const texts = [against, asked.explanation].filter((text) => text !== undefined).map(richText);
    texts[0]?.unshift(h('strong', {}, i === right ? words.right : words.wrong));
    verdict.replaceChildren(...texts.map((text) => h('p', {}, ...text)));
  };
  const buttons = asked.answers.map((_, i) => button('', () => answer(i), 'answer'));
  for (const [i, [text = '']] of asked.answers.entries()) buttons[i]?.append(...richText(text));
  const before = answered.get(key);
  if (before !== undefined) answer(before);
  return h(
    'div',
    { class: 'prose' },
    h(
      'div',
      { class: 'prediction', role: 'group', 'aria-label': words.predict },
      h('p', { class: 'kicker' }, words.predict),
      h('p', {}, ...richText(asked.question)),
      h('div', { class: 'answers' }, ...buttons),
      verdict,
    ),
  );
}
