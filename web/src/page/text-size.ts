// The reader's size of text, as the browser's settings have it. A browser gives all of the page its new sizes at once
// where style sheets ask for that size, and tells no one before. So the page asks for it in one place, far parts go to
// rest, and then all sizes follow: they are counted in that of the root.
import { h } from '../ui/dom';
import { pause } from '../work/pause';
import { rest } from '../work/rest';

// What base.css has in percent, for as long as no script has run.
const ratio = 1.0625;
let size = 0;

/** Follows the reader's size of text from now on. */
export function followTextSize(): void {
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
