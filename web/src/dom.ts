// Making elements: one call instead of createElement, setAttribute and append.

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

/** Calls back with the width of an element that is shown, in CSS pixels, now and at each change. Gives what ends it. */
export function observeWidth(element: Element, changed: (width: number) => void): () => void {
  let last = -1;
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    // A change of height alone is mostly our own doing; answering it would loop. What was hidden and comes back as wide
    // as it was has its picture.
    if (width === 0 || width === last) return;
    last = width;
    changed(width);
  });
  observer.observe(element);
  return () => observer.disconnect();
}
