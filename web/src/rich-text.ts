// Prose with the little markup that the dictionaries use, as nodes: *emphasis*, `code`, $variable$. No HTML is
// parsed, so a text can hold any character.
import { h } from './dom';

const marked = /(\*[^*]+\*|`[^`]+`|\$[^$]+\$)/;

const tags = { '*': 'em', '`': 'code', $: 'var' } as const;

export function richText(text: string): (Node | string)[] {
  return text.split(marked).map((piece) => {
    const tag = piece.length > 2 && marked.test(piece) ? tags[piece[0] as keyof typeof tags] : undefined;
    return tag === undefined ? piece : h(tag, {}, piece.slice(1, -1));
  });
}

/** Paragraphs of prose. */
export function paragraphs(texts: readonly string[]): HTMLElement[] {
  return texts.map((text) => h('p', {}, ...richText(text)));
}

/** A formula that the build made from a .tex file. */
export function formula(mathml: string): HTMLElement {
  const parsed = new DOMParser().parseFromString(mathml, 'text/html').body;
  return h('div', { class: 'formula' }, ...parsed.childNodes);
}
