// Words in a row that can be put in another order, each above a column of its numbers. A word is dragged, or moved with
// the arrow keys while it has the focus; it takes its column along.
import { h } from '../ui/dom';
import { colorOf } from './color-scale';

export interface WordColumn {
  /** The same for the same word, at every place. */
  readonly key: number;
  readonly word: string;
  readonly values: readonly number[];
  /** What is written below. */
  readonly note: string;
  /** Whether the note says that something changed. */
  readonly changed: boolean;
}

export interface WordRow {
  readonly element: HTMLElement;
  /** @param limit the number at either end of the diverging scale. */
  update(columns: readonly WordColumn[], limit: number, onDark: boolean): void;
}

const cellHeight = 9;
const calm = matchMedia('(prefers-reduced-motion: reduce)');

function paint(canvas: HTMLCanvasElement, values: readonly number[], limit: number, onDark: boolean): void {
  canvas.width = 1;
  canvas.height = values.length * cellHeight;
  const context = canvas.getContext('2d');
  if (context === null) return;
  for (const [i, value] of values.entries()) {
    context.fillStyle = colorOf((value / limit + 1) / 2, onDark, 'diverging');
    context.fillRect(0, i * cellHeight, 1, cellHeight - 1);
  }
}

/**
 * @param moved gets the place that a word leaves and the one it goes to.
 * @param help the text on how to move a word.
 */
export function wordRow(label: string, help: string, moved: (from: number, to: number) => void): WordRow {
  const element = h('ol', { class: 'word-row', 'aria-label': label });
  const items = new Map<
    number,
    { item: HTMLLIElement; chip: HTMLButtonElement; strip: HTMLCanvasElement; note: HTMLElement }
  >();
  let order: number[] = [];
  let dragged: number | undefined;

  function make(key: number) {
    const chip = h('button', { type: 'button', class: 'chip', 'aria-description': help });
    const strip = h('canvas', { 'aria-hidden': 'true' });
    const note = h('span', { class: 'chip-note' });
    const item = h('li', {}, chip, strip, note);
    chip.addEventListener('pointerdown', (event) => {
      dragged = key;
      item.classList.add('dragged');
      // The row, not the chip: an element that moves in the document loses the pointer.
      element.setPointerCapture(event.pointerId);
      chip.focus({ preventScroll: true });
      event.preventDefault();
    });
    chip.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const from = order.indexOf(key);
      const to = from + step;
      if (to >= 0 && to < order.length) moved(from, to);
    });
    return { item, chip, strip, note };
  }

  element.addEventListener('pointermove', (event) => {
    if (dragged === undefined) return;
    const boxes = order.map((key) => items.get(key)?.item.getBoundingClientRect());
    const to = boxes.findIndex(
      (box) =>
        box &&
        event.clientX >= box.left &&
        event.clientX < box.right &&
        event.clientY >= box.top &&
        event.clientY < box.bottom,
    );
    const from = order.indexOf(dragged);
    if (to < 0 || to === from) return;
    // Only past the middle of the other word, or words of different widths would change places for ever.
    const box = boxes[to];
    const middle = box ? (box.left + box.right) / 2 : 0;
    const sameLine = Math.abs((box?.top ?? 0) - (boxes[from]?.top ?? 0)) < 4;
    if (sameLine && (to > from ? event.clientX < middle : event.clientX > middle)) return;
    moved(from, to);
  });
  const drop = (): void => {
    for (const { item } of items.values()) item.classList.remove('dragged');
    dragged = undefined;
  };
  element.addEventListener('pointerup', drop);
  element.addEventListener('pointercancel', drop);

  return {
    element,
    update(columns, limit, onDark) {
      const before = new Map([...items].map(([key, { item }]) => [key, item.getBoundingClientRect()]));
      const focused = document.activeElement;
      const next = columns.map(({ key }) => key);
      for (const [key, { item }] of items) {
        if (next.includes(key)) continue;
        item.remove();
        items.delete(key);
      }
      for (const { key, word, values, note, changed } of columns) {
        const parts = items.get(key) ?? make(key);
        items.set(key, parts);
        parts.chip.textContent = word;
        parts.note.textContent = note;
        parts.note.classList.toggle('changed', changed);
        paint(parts.strip, values, limit, onDark);
      }
      if (next.join() !== order.join()) {
        element.replaceChildren(...next.map((key) => items.get(key)?.item ?? ''));
        if (focused instanceof HTMLElement && element.contains(focused)) focused.focus({ preventScroll: true });
      }
      order = next;
      if (calm.matches) return;
      // Each word slides from where it was: the eye sees that the columns go along.
      for (const [key, { item }] of items) {
        const old = before.get(key);
        const now = item.getBoundingClientRect();
        const [dx, dy] = [(old?.left ?? 0) - now.left, (old?.top ?? 0) - now.top];
        if (!old || old.width === 0 || (dx === 0 && dy === 0)) continue;
        item.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: 'none' }], {
          duration: 180,
          easing: 'ease-out',
        });
      }
    },
  };
}
