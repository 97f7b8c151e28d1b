// The menu of a figure: its link, its picture or its numbers as files, its program, and its first state. What makes the
// files is fetched when it is asked for the first time.

import type { FrameTexts } from '../i18n/texts';
import { button } from '../ui/controls';
import { h } from '../ui/dom';
import type { NumberTableData } from '../views/number-table';
import type { About } from './numbers';

export interface Savable {
  readonly picture: HTMLElement;
  /** What is drawn beside it. */
  readonly drawn: readonly Element[];
  about(): About;
  tables(): readonly NumberTableData[];
}

const kinds = ['png', 'csv', 'json'] as const;
type Kind = (typeof kinds)[number];

async function fileOf(kind: Kind, { picture, drawn, about, tables }: Savable): Promise<Blob> {
  if (kind === 'png') return (await import('./picture')).pngOf(picture, drawn, about().address);
  const { csvOf, jsonOf } = await import('./numbers');
  return kind === 'csv'
    ? new Blob([csvOf(tables())], { type: 'text/csv;charset=utf-8' })
    : new Blob([jsonOf(about(), tables())], { type: 'application/json' });
}

function download(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = h('a', { href: address, download: name });
  link.click();
  // The browser needs a moment to take the file over.
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export interface FigureMenu {
  readonly element: HTMLElement;
  /** Puts the keyboard on what opens it. */
  focus(): void;
}

/** @param call shows the program behind the picture, and gets the keyboard. */
export function figureMenu(
  texts: FrameTexts['figure'],
  savable: Savable,
  call: () => void,
  reset: () => void,
): FigureMenu {
  const said = h('span', { class: 'said', role: 'status' });
  // A page may write to the clipboard only over a safe connection, and where it is allowed to; else here is the link.
  async function copyLink(): Promise<Node | string> {
    const { address } = savable.about();
    try {
      await navigator.clipboard.writeText(address);
      return texts.copied;
    } catch {
      return h('a', { href: address }, texts.copyHere);
    }
  }
  async function save(kind: Kind): Promise<string> {
    if (savable.tables().every(({ rows }) => rows.length === 0)) return texts.nothingToSave;
    try {
      download(await fileOf(kind, savable), `${savable.about().figure}.${kind}`);
      return texts.saved;
    } catch {
      return texts.saveFailed;
    }
  }
  const opener = h('summary', { class: 'button quiet' }, texts.menu);
  const close = (): void => {
    menu.open = false;
    opener.focus();
  };
  // What came of it is told in words.
  const item = (label: string, act: () => Promise<Node | string>): HTMLElement =>
    button(
      label,
      async () => {
        close();
        said.replaceChildren(await act());
      },
      'button quiet',
    );
  const silent = (act: () => void) => async () => {
    act();
    return '';
  };
  const program = item(texts.code, silent(call));
  const menu = h(
    'details',
    { class: 'menu' },
    opener,
    h(
      'div',
      { class: 'menu-items' },
      item(texts.copyLink, copyLink),
      ...kinds.map((kind) => item(texts.saveAs[kind], () => save(kind))),
      program,
      item(texts.reset, silent(reset)),
    ),
  );
  menu.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && menu.open) close();
  });
  // Whatever leaves the menu closes it; a pointer need not take the keyboard along in every browser.
  const leave = ({ target }: Event): void => {
    if (!(target instanceof Node && menu.contains(target))) menu.open = false;
  };
  menu.addEventListener('toggle', () => {
    if (menu.open) said.replaceChildren();
    program.hidden = savable.about().code === '';
    const change = menu.open ? addEventListener : removeEventListener;
    for (const type of ['pointerdown', 'focusin']) change(type, leave);
  });
  return { element: h('span', { class: 'copy' }, menu, said), focus: () => opener.focus() };
}
