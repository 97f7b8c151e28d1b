// The scorecard: what each encoding so far does by four criteria. It grows from chapter to chapter.
import { h } from '../ui/dom';
import { richText } from '../ui/rich-text';
import type { ChapterState } from './chapter';

const marks = { y: 'yes', p: 'partly', n: 'no' } as const;

// In reading order; for each encoding its marks, in the order of the criteria.
const rows = {
  binary: 'ynnn',
  sinusoidal: 'yyyp',
  learned: 'ppnn',
  shaw: 'pppy',
  t5: 'pppy',
  alibi: 'pyyy',
  rope: 'yyyp',
} as const;

/** What an encoding does by each of the criteria, here or by `others`; undefined where neither says. */
export function marksOf(
  encoding: string,
  others: Readonly<Record<string, string>>,
): readonly ((typeof marks)[keyof typeof marks] | undefined)[] {
  const known: Readonly<Record<string, string>> = { ...others, ...rows };
  return Array.from(known[encoding] ?? '????', (mark) => marks[mark as keyof typeof marks]);
}

/** The encodings up to one of them. */
export function scorecard(chapter: ChapterState, last: keyof typeof rows): HTMLElement {
  const texts = chapter.scorecard;
  if (texts === undefined) throw new Error('the first chapter has no scorecard');
  const names = Object.keys(rows) as (keyof typeof rows)[];
  const shown = names.slice(0, names.indexOf(last) + 1);
  const head = texts.criteria.map((name) => h('th', { scope: 'col' }, name));
  const bodies = shown.map((encoding) => {
    const [name = '', reason = ''] = texts.rows[encoding];
    const cells = Array.from(rows[encoding], (mark) => {
      const key = marks[mark as keyof typeof marks];
      return h('td', { class: key }, texts.marks[key]);
    });
    return h(
      'tbody',
      {},
      h('tr', {}, h('th', { scope: 'row' }, name), ...cells),
      h('tr', { class: 'reason' }, h('td', { colspan: 5 }, ...richText(reason))),
    );
  });
  const table = h(
    'table',
    { class: 'scorecard' },
    h('caption', {}, texts.title),
    h('thead', {}, h('tr', {}, h('td'), ...head)),
  );
  table.append(...bodies);
  return h('div', { class: 'prose' }, table);
}
