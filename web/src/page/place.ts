// Where the reader is on the page, so that the place is kept while chapters are replaced, and found again.

export interface ReadingPlace {
  /** The chapter at the top of the window, and which share of it has passed. */
  readonly index: number;
  readonly into: number;
  /** The figure of it that is nearest to where one reads, and where it is; every language has the same ones. */
  readonly figure?: { readonly id: string; readonly top: number };
  isLeft(): boolean;
}

export const topOf = (element: Element | null | undefined): number | undefined => element?.getBoundingClientRect().top;

// Where figures are in the text, wherever they stay in sight beside it.
function topsOf(figures: readonly HTMLElement[]): number[] {
  for (const { style } of figures) style.position = 'static';
  const tops = figures.map((figure) => figure.getBoundingClientRect().top);
  for (const { style } of figures) style.position = '';
  return tops;
}

export function readingPlace(sections: readonly HTMLElement[]): ReadingPlace {
  const boxes = sections.map((section) => section.getBoundingClientRect());
  const index = Math.max(
    0,
    boxes.findLastIndex((box) => box.top < innerHeight / 4),
  );
  const box = boxes[index];
  const into = box && box.height > 0 ? -box.top / box.height : 0;
  const all = [...(sections[index]?.querySelectorAll<HTMLElement>('figure[id]') ?? [])];
  const tops = topsOf(all);
  const figures = all
    .map(({ id }, i) => ({ id, top: tops[i] ?? 0 }))
    .filter(({ top }) => Math.abs(top) < 2 * innerHeight)
    .sort((a, b) => Math.abs(a.top - innerHeight / 4) - Math.abs(b.top - innerHeight / 4));
  return { index, into, ...(figures[0] && { figure: figures[0] }), isLeft: watchMoves() };
}

/** Keeps the figure where it was until the reader moves the page; false where there is none to keep. */
export function holds({ figure, isLeft }: ReadingPlace): boolean {
  const found = figure && !isLeft() && document.getElementById(figure.id);
  const [top] = found ? topsOf([found]) : [];
  if (figure === undefined || top === undefined) return false;
  scrollBy({ top: top - figure.top, behavior: 'instant' });
  return true;
}

// Where a visit ended, for the page that is loaded again.
const placeKey = 'place';

export function keepPlace(place: ReadingPlace): void {
  try {
    sessionStorage.setItem(placeKey, JSON.stringify({ ...place, address: location.href }));
  } catch {
    // Without storage the page begins at its chapter.
  }
}

/** Goes to where the reader was when the page was left at this address. Whether it did. */
export function comesBack(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  if (navigation?.type !== 'reload' && navigation?.type !== 'back_forward') return false;
  try {
    const place = JSON.parse(sessionStorage.getItem(placeKey) ?? '{}');
    return place.address === location.href && holds({ ...place, isLeft: () => false });
  } catch {
    return false;
  }
}

/** Tells whether the reader has moved the page since. */
export function watchMoves(): () => boolean {
  const moves = new AbortController();
  for (const kind of ['wheel', 'touchmove', 'keydown', 'pointerdown']) {
    addEventListener(kind, () => moves.abort(), { signal: moves.signal, passive: true });
  }
  return () => moves.signal.aborted;
}
