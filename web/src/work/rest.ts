// While the reader works a control, figures far from the screen rest: the browser neither lays them out nor paints them
// with every frame (content-visibility in figures.css). A while later all of the page is there again, as for a printer or
// a picture of the whole.

const pause = 1500; // ms after the last change
let timer: ReturnType<typeof setTimeout> | undefined;

/** Tells that the reader changed something. */
export function othersRest(): void {
  const { classList } = document.documentElement;
  classList.add('working');
  clearTimeout(timer);
  timer = setTimeout(() => classList.remove('working'), pause);
}
