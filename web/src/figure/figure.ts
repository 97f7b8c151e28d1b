// The frame that every figure has: controls, the picture or its table, what it shows in words, its program.
// A figure is a part of the state and a function that shows it; the frame calls that whenever the state changes.

import { figureMenu } from '../export/menu';
import { announce } from '../ui/announce';
import { button, type Control } from '../ui/controls';
import { freshId, h } from '../ui/dom';
import { type Field, flag, type Section, type Values } from '../ui/state';
import { onThemeChange } from '../ui/theme';
import { type NumberTable, type NumberTableData, numberTable } from '../views/number-table';
import { rest } from '../work/rest';
import { soon } from '../work/soon';
import type { ChapterState } from './chapter';
import { codeBlock } from './code-block';
import { type Controls, controlsOf } from './settings';

type Fields = Readonly<Record<string, Field<unknown>>>;
type WithTable<F extends Fields> = F & { readonly table: Field<boolean> };

/** The texts of a figure about the values that it has just shown. */
export interface Report {
  /** What the picture shows, in a sentence or two; told to screen readers when it changes. */
  readonly summary: string;
  /** A program that computes the numbers of the table, in the table's order, as `result`. Empty: there is none yet. */
  readonly code: string;
  /** The numbers of the picture. Asked for only where the reader wants them as a table. */
  readonly table: () => readonly NumberTableData[];
  /** There is no picture yet, and so no table. */
  readonly isEmpty?: boolean;
  /** What is shown, and all of this report, is of earlier values: another thread is at work on these. */
  readonly isBehind?: boolean;
}

export interface FigureParts<F extends Fields> {
  readonly controls?: readonly Node[];
  readonly picture: readonly Node[];
  /** What is drawn among the controls, because it is one of them; a saved picture has it as well. */
  readonly drawn?: readonly Element[];
  /** undefined: what it needs has not come yet; `again` shows it then. */
  show(values: Values<WithTable<F>>): Report | undefined;
  /** Is given what shows the figure again, for news that do not come from the state. */
  again?(show: () => void): void;
  /** Undoes what is no part of the state, for Reset. */
  reset?(): void;
  end?(): void;
}

export interface Figure {
  readonly element: HTMLElement;
  readonly end: () => void;
}

export interface FigureOptions {
  /** Its part of the chapter's state. */
  readonly name: string;
  readonly caption: string;
  /** Wider than the text. Default false. */
  readonly wide?: boolean;
}

// Fills a box with as many tables as there are.
function tablesIn(box: HTMLElement): (data: readonly NumberTableData[]) => void {
  const tables: NumberTable[] = [];
  return (data) => {
    while (tables.length > data.length) tables.pop()?.element.remove();
    for (const [i, each] of data.entries()) {
      const made = tables[i] ?? numberTable('tall');
      if (tables[i] === undefined) {
        tables.push(made);
        box.append(made.element);
      }
      made.update(each);
    }
  };
}

// Beside its text a figure stays in sight. One that is higher than the window goes with the text, or parts of it would be
// out of reach.
const heights = new ResizeObserver((entries) => {
  for (const { target, borderBoxSize } of entries) {
    const height = borderBoxSize[0]?.blockSize ?? 0;
    (target as HTMLElement).style.top = `min(4.5rem, (100vh - 5.5rem - ${height}px) * 999)`;
  }
});

interface FrameParts {
  readonly controls: readonly Node[];
  readonly shown: readonly Node[];
  readonly tools: readonly Node[];
  readonly code: Node;
}

function frame(
  { id, look, label, caption }: Readonly<Record<'id' | 'look' | 'label' | 'caption', string>>,
  { controls, shown, tools, code }: FrameParts,
): HTMLElement {
  // Its number is the name of the figure, and of its buttons together.
  const number = freshId();
  const named = { 'aria-labelledby': number };
  return h(
    'figure',
    { class: look, id, ...named },
    h(
      'div',
      { class: 'panel' },
      ...(controls.length === 0 ? [] : [h('div', { class: 'controls' }, ...controls)]),
      ...shown,
      h('div', { class: 'tools', role: 'group', ...named }, ...tools),
    ),
    h('figcaption', {}, h('span', { id: number }, label), caption),
    code,
  );
}

export function figure<F extends Fields>(
  chapter: ChapterState,
  { name, caption, wide = false }: FigureOptions,
  fields: F,
  make: (section: Section<WithTable<F>>, controls: Controls<F>) => FigureParts<F>,
): Figure {
  const texts = chapter.frame.figure;
  const section = chapter.section(name, { ...fields, table: flag(false) } as WithTable<F>);
  const bound: Controls<F> = controlsOf(fields, section as never);
  const parts = make(section, bound);
  const summary = h('p', { class: 'summary' });
  const code = codeBlock(texts, `${texts.code}: ${caption}`);
  const pictureBox = h('div', { class: 'picture' }, ...parts.picture);
  const tableBox = h('div', { class: 'tables' });
  const swap = (): void => section.set({ table: !section.values.table } as never);
  const tableButton = button(texts.table, swap, 'button quiet table-button');
  const tabulate = tablesIn(tableBox);
  let report: Report | undefined;
  const savable = {
    picture: pictureBox,
    drawn: parts.drawn ?? [],
    about: () => ({
      figure: `${chapter.id}-${name}`,
      caption,
      summary: report?.summary ?? '',
      address: chapter.link(name),
      code: report?.code ?? '',
    }),
    tables: () => report?.table() ?? [],
  };
  const reset = (): void => {
    section.reset();
    parts.reset?.();
  };
  const menu = figureMenu(texts, savable, call, reset);

  // The program is there when it is asked for, and gone when it is closed.
  const program = code.element;
  program.hidden = true;
  function call(): void {
    program.hidden = false;
    program.open = true;
    program.querySelector('summary')?.focus();
  }
  program.addEventListener('toggle', () => {
    if (!program.open && program.contains(document.activeElement)) menu.focus();
    program.hidden = !program.open;
  });

  // What the picture shows; the table is another view of the same.
  let pictured = '';
  const pictureOf = ({ table, ...values }: Values<WithTable<F>>): string => JSON.stringify(values);

  function show(): void {
    pictured = pictureOf(section.values);
    const { values } = section;
    for (const [name, control] of Object.entries(bound as Readonly<Record<string, Control<unknown>>>)) {
      control.show(values[name]);
    }
    const next = parts.show(values);
    report = next ?? report;
    view();
    if (next === undefined) element.setAttribute('aria-busy', 'true');
  }

  function view(): void {
    if (report === undefined) return;
    if (summary.textContent !== report.summary) {
      summary.textContent = report.summary;
      if (element.contains(document.activeElement)) announce(report.summary);
    }
    code.show(report.code);
    if (report.isBehind) element.setAttribute('aria-busy', 'true');
    else element.removeAttribute('aria-busy');
    if (report.code === '') program.open = false;
    tableButton.hidden = report.isEmpty === true;
    const wanted = (section.values.table as boolean) && !report.isEmpty;
    if (wanted) tabulate(report.table());
    pictureBox.hidden = wanted;
    tableBox.hidden = !wanted;
    tableButton.textContent = wanted ? texts.picture : texts.table;
  }

  const element = frame(
    { id: `figure-${chapter.id}-${name}`, look: wide ? 'wide resting' : 'resting', label: texts.label, caption },
    {
      controls: parts.controls ?? [],
      shown: [pictureBox, tableBox, summary],
      tools: [tableButton, menu.element],
      code: program,
    },
  );
  heights.observe(element);
  let isOver = false;
  const showUnlessOver = (): void => (isOver ? undefined : show());
  soon(() => {
    showUnlessOver();
    // For the first picture its width has to be known, wherever it is.
    element.classList.remove('resting');
  });
  parts.again?.(show);
  const change = (): void => {
    rest();
    if (pictureOf(section.values) === pictured) view();
    else show();
  };
  const ends = [section.subscribe(change), onThemeChange(() => soon(showUnlessOver)), () => parts.end?.()];
  return {
    element,
    end() {
      isOver = true;
      heights.unobserve(element);
      for (const end of ends) end();
    },
  };
}

// A figure and the text that speaks of it are a passage: what is before the figure, since the last one or a heading, and
// what follows up to a heading. They are beside each other where there is room. A wide figure is below its text.
function passages(parts: readonly (HTMLElement | Figure)[]): HTMLElement[] {
  const made: HTMLElement[] = [];
  let texts: HTMLElement[] = [];
  let passage: HTMLElement | undefined;
  const end = (): void => {
    if (passage === undefined) made.push(...texts);
    else if (texts.length > 0) passage.append(h('div', {}, ...texts));
    texts = [];
    passage = undefined;
  };
  for (const part of parts) {
    const element = part instanceof HTMLElement ? part : part.element;
    if (part === element) {
      if (element.querySelector('h3, table') !== null) end();
      texts.push(element);
    } else if (element.matches('figure:not(.wide)')) {
      passage = h('div', { class: 'passage' }, h('div', {}, ...texts), element);
      made.push(passage);
      texts = [];
    } else {
      if (element.matches('figure')) passage = undefined;
      end();
      made.push(element);
    }
  }
  end();
  return made;
}

/**
 * Puts the parts of a chapter, or of a piece of it, into its element, in reading order, and counts figures. Gives what
 * undoes it.
 */
export function compose(root: HTMLElement, ...parts: readonly (HTMLElement | Figure)[]): () => void {
  root.replaceChildren(...passages(parts));
  // Not by the style sheet: browsers leave its counters out of names.
  const chapters = Array.from(document.querySelectorAll('.chapter'));
  const before = chapters.findIndex((chapter) => chapter.contains(root));
  // The last one is the appendix.
  const number = chapters[before + 1] ? before + 1 : 'A';
  for (const [i, label] of (chapters[before] ?? root).querySelectorAll('figcaption span').entries()) {
    if (root.contains(label)) label.append(` ${number}.${i + 1}`);
  }
  return () => {
    for (const part of parts) if (!(part instanceof HTMLElement)) part.end();
    root.replaceChildren();
  };
}
