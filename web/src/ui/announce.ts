// What a screen reader is told of a picture that the reader changes: where it has come to rest, not each step on the way.
import { h } from './dom';

// Milliseconds without a change.
const restFor = 500;
const region = h('p', { class: 'heard', role: 'status' });
let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(text: string): void {
  if (!region.isConnected) document.body.append(region);
  clearTimeout(timer);
  timer = setTimeout(() => {
    region.textContent = text;
  }, restFor);
}
