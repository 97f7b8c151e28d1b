// A small menu that saves what a figure shows: its picture, or its numbers. What makes the files is fetched when it
// is asked for the first time.

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

export function saveMenu(texts: FrameTexts['figure'], savable: Savable): HTMLElement {
  const said = h('span', { class: 'said', role: 'status' });
  // What came of it, in words.
  async function tryToSave(kind: Kind): Promise<string> {
    if (savable.tables().every(({ rows }) => rows.length === 0)) return texts.nothingToSave;
    try {
      download(await fileOf(kind, savable), `${savable.about().figure}.${kind}`);
      return texts.saved;
    } catch {
      return texts.saveFailed;
    }
  }
  async function save(kind: Kind): Promise<void> {
    said.textContent = '';
    said.textContent = await tryToSave(kind);
    menu.open = false;
    opener.focus();
  }
  const opener = h('summary', { class: 'button quiet' }, texts.save);
  const items = kinds.map((kind) => button(texts.saveAs[kind], () => void save(kind), 'button quiet'));
  const menu = h('details', { class: 'save' }, opener, h('div', { class: 'save-items' }, ...items));
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    menu.open = false;
    opener.focus();
  });
  // Whatever leaves the menu closes it; a pointer need not take the keyboard along in every browser.
  const leave = ({ target }: Event): void => {
    if (!(target instanceof Node && menu.contains(target))) menu.open = false;
  };
  menu.addEventListener('toggle', () => {
    const change = menu.open ? addEventListener : removeEventListener;
    for (const type of ['pointerdown', 'focusin']) change(type, leave);
  });
  return h('span', { class: 'copy' }, menu, said);
}
