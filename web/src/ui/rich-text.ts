// Prose with the markup of the dictionaries, as nodes.
import type { Pitfall } from '../i18n/texts';
import { h } from './dom';
import { marked, raised } from './markup';

const functions = new Set(['sin', 'cos', 'ln', 'clip', 'slope']);

// As is the custom: letters slanted, but neither digits and signs nor the names of functions.
function set(text: string): (Node | string)[] {
  const runs = text.split(/(\p{L}+)/u).filter(Boolean);
  return runs.map((run) => (/^\p{L}/u.test(run) && !functions.has(run) ? h('var', {}, run) : run));
}

/** A short formula within a line, which is never broken. */
export function math(text: string): HTMLElement {
  const pieces = text.split(raised);
  const small = (piece: string) =>
    h(piece[0] === '_' ? 'sub' : 'sup', {}, ...set(piece.slice(1).replace(/^\{|\}$/g, '')));
  return h('span', { class: 'math' }, ...pieces.flatMap((piece, i) => (i % 2 === 0 ? set(piece) : [small(piece)])));
}

function node(piece: string): Node | string {
  if (piece.length < 3 || !marked.test(piece)) return piece;
  const inner = piece.slice(1, -1);
  switch (piece[0]) {
    case '*':
      return h('em', {}, ...richText(inner));
    case '`':
      return h('code', {}, inner);
    case '$':
      return math(inner);
    case '[': {
      const [text = '', href = ''] = inner.split('](');
      return h('a', { href, rel: 'noopener' }, text);
    }
    default:
      return h('span', { class: 'whole' }, piece);
  }
}

export function richText(text: string): (Node | string)[] {
  return text.split(marked).filter(Boolean).map(node);
}

/** Paragraphs of prose. */
export function prose(...texts: readonly string[]): HTMLElement {
  return h('div', { class: 'prose' }, ...texts.map((text) => h('p', {}, ...richText(text))));
}

const parsed = (mathml: string): ChildNode[] => [
  ...new DOMParser().parseFromString(mathml, 'text/html').body.childNodes,
];

/** Things in no particular order. */
export function list(items: readonly string[]): HTMLElement {
  return h('div', { class: 'prose' }, h('ul', {}, ...items.map((item) => h('li', {}, ...richText(item)))));
}

function noted(look: string, parts: readonly Node[], note: string): HTMLElement {
  return h(
    'div',
    { class: 'prose' },
    h('div', { class: look, tabindex: 0, role: 'math' }, ...parts),
    ...(note === '' ? [] : [h('p', { class: 'formula-note' }, ...richText(note))]),
  );
}

/** A formula that the build made from a .tex file, with a note on its letters. */
export function formula(mathml: string, note = ''): HTMLElement {
  return noted('formula', parsed(mathml), note);
}

/** Several formulas to be compared, each in a line with its name. */
export function formulas(mathml: string, names: readonly string[], note = ''): HTMLElement {
  const all = parsed(mathml).filter((part) => part instanceof Element);
  const lines = all.flatMap((each, i) => [h('span', { class: 'formula-name' }, names[i] ?? ''), each]);
  return noted('formula named', lines, note);
}

/** A part of a chapter, with a heading of its own. */
export function subheading(text: string): HTMLElement {
  return h('div', { class: 'prose' }, h('h3', {}, ...richText(text)));
}

/** What often goes wrong. */
export function pitfalls(title: string, items: readonly Pitfall[]): HTMLElement {
  return h(
    'div',
    { class: 'prose' },
    h(
      'div',
      { class: 'pitfalls' },
      h('h3', {}, title),
      h('dl', {}, ...items.flatMap((item) => item.map((text, i) => h(i === 0 ? 'dt' : 'dd', {}, ...richText(text))))),
    ),
  );
}
