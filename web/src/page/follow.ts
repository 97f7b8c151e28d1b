// What the page does when the reader makes its letters larger or its window wider or narrower. It is fetched once the page is
// there.
import './follow.css';
import { h } from '../ui/dom';
import { pause } from '../work/pause';
import { rest, wake } from '../work/rest';
import { wide } from './beside';
import { holds, readingPlace } from './place';

// What base.css has in percent, for as long as no script has run.
const ratio = 1.0625;

/**
 * Follows the reader's size of text from now on. A browser gives all of the page its new sizes at once where style sheets
 * ask for that size, and tells no one before. So the page asks for it in one place, far parts go to rest, and then all
 * sizes follow: they are counted in that of the root.
 */
export function followTextSize(): void {
  let size = 0;
  const ruler = h('div', { class: 'text-size', 'aria-hidden': 'true' });
  document.documentElement.append(ruler); // what is in the body is replaced with the language
  const follow = async (): Promise<void> => {
    if (ruler.offsetWidth === 0) return;
    if (size > 0) {
      await pause(); // all of the page has just been styled anew
      rest();
      await pause();
    }
    size = ruler.getBoundingClientRect().width;
    document.documentElement.style.fontSize = `${ratio * size}px`;
  };
  new ResizeObserver(follow).observe(ruler);
}

/**
 * Puts figures beside their text where the window becomes wide, and back. To lay out all of the page in the other way
 * takes long, so that chapters change one by one, first the one that is read, while what is far from the screen rests.
 */
export function followWidth(): void {
  let turn = 0;
  const parts = () => Array.from(document.querySelectorAll<HTMLElement>('.chapter, .opening'));
  const follow = async (): Promise<void> => {
    turn += 1;
    const mine = turn;
    const reading = readingPlace(Array.from(document.querySelectorAll<HTMLElement>('.chapter')));
    rest();
    const order = parts().map((_, i) => i);
    order.unshift(...order.splice(reading.index + 1, 1)); // the opening is before the first chapter
    for (const i of order) {
      await pause(16);
      if (mine !== turn) return;
      parts()[i]?.classList.toggle('beside', wide.matches);
      holds(reading);
    }
    await wake();
    if (mine === turn) holds(reading); // what woke above it may have another height than at rest
  };
  wide.addEventListener('change', follow);
  // It may have changed before.
  if (parts().some(({ classList }) => classList.contains('beside') !== wide.matches)) void follow();
}
