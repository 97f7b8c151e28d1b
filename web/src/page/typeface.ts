// Gives the page its own face once its first figure is there. Nothing that is in sight moves for it: what would waits in the
// system's face until it is out of sight.
import { files } from 'virtual:typeface';
import { pause } from '../work/pause';
import './typeface.css';

const parts = 'h1, .lede, .chapter';

const isInSight = ({ top, bottom }: DOMRect): boolean => bottom > 0 && top < innerHeight;

// The places of all lines of text and figures that are in sight.
function inSight(): number[] {
  const places: number[] = [];
  for (const part of document.querySelectorAll(parts)) {
    if (!isInSight(part.getBoundingClientRect())) continue;
    for (const block of [part, ...part.querySelectorAll('h2, h3, p, li, figure')]) {
      const box = block.getBoundingClientRect();
      // What rests beside the screen may change its size there.
      if (isInSight(box)) places.push(box.top, Math.min(box.bottom, innerHeight));
    }
  }
  return places;
}

function isSame(before: readonly number[]): boolean {
  const after = inSight();
  return after.length === before.length && after.every((place, i) => Math.abs(place - (before[i] ?? 0)) < 0.5);
}

function give(part: Element): void {
  const { classList } = document.documentElement;
  const before = inSight();
  const { bottom, height } = part.getBoundingClientRect();
  // The browser's own care for the place would come in between.
  const isMoving = classList.contains('moving');
  classList.add('moving');
  const from = scrollY;
  part.classList.add('own');
  if (bottom <= 0) scrollBy({ top: part.getBoundingClientRect().height - height, behavior: 'instant' });
  if (!isSame(before)) {
    part.classList.remove('own');
    scrollTo({ top: from, behavior: 'instant' });
  }
  classList.toggle('moving', isMoving);
}

async function fetchFaces(): Promise<FontFace[]> {
  return Promise.all(
    files.map(async ({ address, ...style }) => {
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(`${answer.status} for ${address}`);
      // From bytes: the page's policy needs to allow no fonts.
      return new FontFace('Ropewalk', await answer.arrayBuffer(), style).load();
    }),
  );
}

async function bring(): Promise<void> {
  for (const face of await fetchFaces()) document.fonts.add(face);
  const watched = new IntersectionObserver(async (entries) => {
    for (const { target } of entries) {
      if (target.classList.contains('own') || !target.isConnected) continue;
      await pause(16);
      give(target);
    }
  });
  for (const part of document.querySelectorAll(parts)) watched.observe(part);
  // What comes from now on has it from the beginning.
  const main = document.querySelector('main');
  if (main === null) return;
  new MutationObserver((records) => {
    for (const { addedNodes } of records)
      for (const node of addedNodes)
        if (node instanceof Element)
          for (const part of [node, ...node.querySelectorAll(parts)])
            if (part.matches(parts)) part.classList.add('own');
  }).observe(main, { childList: true });
}

let isAsked = false;

/** Brings it, once. Where it does not come, the page keeps the system's face. */
export function bringTypeface(): void {
  if (isAsked) return;
  isAsked = true;
  bring().catch(() => undefined);
}
