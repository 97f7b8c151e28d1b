// While chapters come, colours, letters or the width of the window change, and the reader works a figure, what is far from the
// screen rests: the browser neither lays it out nor paints it with every frame (content-visibility in article.css). Then
// it wakes, a little at a time, and all of the page is there again, as for a printer or a picture of the whole: no event
// that comes in time for a picture tells of it.
import { settled, soon } from './soon';

const calm = 1500; // ms after the last change
let timer: ReturnType<typeof setTimeout> | undefined;
let turn = 0;

/** Ends the rest of all parts. Resolves when they are awake, or have been told to rest again. */
export async function wake(): Promise<void> {
  clearTimeout(timer);
  turn += 1;
  const mine = turn;
  for (const part of document.querySelectorAll<HTMLElement>('.resting')) {
    soon(() => {
      if (mine !== turn) return;
      part.classList.remove('resting');
      void part.offsetHeight; // lays it out
    });
  }
  await settled();
}

/** Tells that something changes: for a while chapters and figures rest. */
export function rest(): void {
  clearTimeout(timer);
  turn += 1;
  for (const part of document.querySelectorAll('.chapter, figure')) part.classList.add('resting');
  timer = setTimeout(wake, calm);
}

let width = innerWidth;
addEventListener('resize', () => {
  // Where a browser pictures the whole page the window may be a point for a moment.
  if (innerWidth === width || innerWidth <= 1) return;
  width = innerWidth;
  rest();
});
