// What a screen reader is told of a picture that the reader changes: where it has come to rest, not each step on the way.
import { h } from './dom';

// Milliseconds without a change.
const restFor = 500;
const region = h('p', { class: 'heard', role: 'status' });
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Writes what a part of a picture says. It is told while the keyboard is in `place`; what a control elsewhere changes, its
 * figure tells.
 */
export function tellIn(place: Element, region: HTMLElement, text: string): void {
  if (region.textContent === text) return;
  region.ariaLive = place.contains(document.activeElement) ? 'polite' : 'off';
  region.textContent = text;
}

export function announce(text: string): void {
  if (!region.isConnected) document.body.append(region);
  clearTimeout(timer);
  timer = setTimeout(() => {
    region.textContent = text;
  }, restFor);
}
