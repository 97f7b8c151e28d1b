// One attention in three libraries, a tab for each. What is in Python comes when the reader opens it.
import type { ChapterState } from '../../figure/chapter';
import { codeBlock } from '../../figure/code-block';
import type { Texts } from './i18n/en';

export const libraries = ['numpy', 'pytorch', 'ropewalk'] as const;
export type Library = (typeof libraries)[number];

const python = /(#[^\n]*)|("""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*")|\b(import|from|as|def|return|for|in)\b|\b(\d[\w.]*)\b/g;

export interface LibraryCode {
  readonly element: HTMLElement;
  /** @param own the program of ropewalk. */
  show(encoding: string, library: Library, own: string): void;
}

/** @param tabs choose the library. */
export function libraryCode({ frame, texts }: ChapterState<Texts>, tabs: Element): LibraryCode {
  let wanted = { encoding: '', library: 'ropewalk' as Library, own: '' };
  const block = codeBlock(frame.figure, texts.attention.programs, {
    title: texts.attention.programs,
    above: [tabs],
    token: () => (wanted.library === 'ropewalk' ? undefined : python),
  });
  const write = async (): Promise<void> => {
    const asked = wanted;
    const { encoding, library, own } = asked;
    if (library === 'ropewalk') return block.show(own);
    if (!(block.element as HTMLDetailsElement).open) return;
    const text = await import('./python-programs').then(
      ({ pythonProgram }) => pythonProgram(library, encoding),
      () => `# ${texts.attention.lost}\n`,
    );
    if (asked === wanted) block.show(text);
  };
  block.element.addEventListener('toggle', () => void write());
  return {
    element: block.element,
    show(encoding, library, own) {
      wanted = { encoding, library, own };
      void write();
    },
  };
}
