// Light, dark, or as the system has it; paper is always light, and colours that the system forces are the system's.
import { rest } from '../work/rest';
import { flush } from '../work/soon';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const system = matchMedia('(prefers-color-scheme: dark)');
const forced = matchMedia('(forced-colors: active)');
const listeners = new Set<() => void>();
let chosen: Theme = 'auto';
let printing = false;

function tell(): void {
  for (const listener of listeners) listener();
}

const wantsDark = (): boolean =>
  !printing && (chosen === 'auto' || forced.matches ? system.matches : chosen === 'dark');

// Style sheets are told even what the system wants, or they would follow it before anything could rest.
function show(): void {
  document.documentElement.dataset.theme = wantsDark() ? 'dark' : 'light';
}

function change(): void {
  if (wantsDark() === isDark()) return;
  rest();
  show();
  tell();
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  change();
}

export function isDark(): boolean {
  return document.documentElement.dataset.theme === 'dark';
}

/** Calls back when the page turns dark or light. Gives a function that ends it. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

show();
system.addEventListener('change', change);
forced.addEventListener('change', change);
// What was drawn on a canvas has to be drawn again for paper, at once.
for (const [event, value] of [
  ['beforeprint', true],
  ['afterprint', false],
] as const) {
  addEventListener(event, () => {
    printing = value;
    show();
    tell();
    flush();
  });
}
