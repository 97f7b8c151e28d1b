// Light, dark, or as the system has it; paper is always light.
import { rest } from './work/rest';
import { flush } from './work/soon';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const system = matchMedia('(prefers-color-scheme: dark)');
const forcedColors = matchMedia('(forced-colors: active)');
const listeners = new Set<() => void>();
let chosen: Theme = 'auto';
let printing = false;

function tell(): void {
  for (const listener of listeners) listener();
}

// Style sheets are told in either case, or they would follow the system before anything could rest.
function show(): void {
  document.documentElement.dataset.theme = chosen === 'auto' ? (system.matches ? 'dark' : 'light') : chosen;
}

function change(): void {
  rest();
  show();
  tell();
}

export function setTheme(theme: Theme): void {
  if (theme === chosen) return;
  chosen = theme;
  change();
}

export function isDark(): boolean {
  return !printing && document.documentElement.dataset.theme === 'dark';
}

/** Whether the reader's system has colours of its own. */
export const isForced = (): boolean => forcedColors.matches;

/** Calls back when the page's colours change. Gives a function that ends it. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

show();
system.addEventListener('change', () => {
  if (chosen === 'auto') change();
});
forcedColors.addEventListener('change', tell);
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
