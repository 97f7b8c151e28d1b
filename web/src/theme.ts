// Light, dark, or as the system has it; paper is always light.
import { rest } from './work/rest';
import { flush } from './work/soon';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
let chosen: Theme = 'auto';
let printing = false;

function tell(): void {
  for (const listener of listeners) listener();
}

export function setTheme(theme: Theme): void {
  if (theme === chosen) return;
  chosen = theme;
  rest();
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  tell();
}

export function isDark(): boolean {
  return !printing && (chosen === 'dark' || (chosen === 'auto' && system.matches));
}

/** Calls back when the page turns dark or light. Gives a function that ends it. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

system.addEventListener('change', tell);
// Style sheets know of print on their own; what was drawn on a canvas has to be drawn again.
for (const [event, value] of [
  ['beforeprint', true],
  ['afterprint', false],
] as const) {
  addEventListener(event, () => {
    printing = value;
    tell();
    flush();
  });
}
