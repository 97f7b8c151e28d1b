// Making elements: one call instead of createElement, setAttribute and append. And how wide they are.
import { soon } from '../work/soon';

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
type Child = Node | string;

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children);
  return element;
}

/** An HTML element. Attributes that are false or undefined are left out; true is an empty one. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

let made = 0;

/** An id that no other element of the page has. */
export function freshId(): string {
  made += 1;
  return `id-${made}`;
}

interface Watched {
  width: number;
  answered: number;
  changed(width: number): void;
}

// Milliseconds that answers to one change may take within its frame; the pictures after them come later.
const answersFor = 8;
const watched = new Map<Element, Watched>();

function answer(element: Element): void {
  const about = watched.get(element);
  // A change of height alone is mostly our own doing; answering it would loop. What was hidden and comes back as wide
  // as it was has its picture.
  if (about === undefined || about.width === 0 || about.width === about.answered) return;
  about.answered = about.width;
  about.changed(about.width);
}

const observer = new ResizeObserver((entries) => {
  const start = performance.now();
  for (const { target, contentRect } of entries) {
    const about = watched.get(target);
    if (about === undefined) continue;
    about.width = Math.floor(contentRect.width);
    // What has no picture yet does not wait.
    if (about.answered === 0 || performance.now() - start < answersFor) answer(target);
    else soon(() => answer(target));
  }
});

// On a screen of another density all pictures are drawn again, as wide as they are.
function followDensity(): void {
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener(
    'change',
    () => {
      for (const [element, about] of watched) {
        if (about.answered !== 0) about.answered = Number.NaN;
        soon(() => answer(element));
      }
      followDensity();
    },
    { once: true },
  );
}
followDensity();

/**
 * Calls back with the width of an element that is shown, in CSS pixels: now, at each change, and when its pixels
 * become finer or coarser. Gives what ends it.
 */
export function observeWidth(element: Element, changed: (width: number) => void): () => void {
  watched.set(element, { width: 0, answered: 0, changed });
  observer.observe(element);
  return () => {
    watched.delete(element);
    observer.unobserve(element);
  };
}
