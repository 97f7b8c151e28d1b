// Amounts as bars from a common line, in groups with a scale of their own each; every bar with its name and its number.
import { h } from '../ui/dom';

export interface BarGroup {
  readonly title: string;
  readonly bars: readonly {
    readonly name: string;
    readonly value: number;
    readonly look: 'query' | 'key' | 'third';
    /** The number as it is written beside the bar. */
    readonly reading: string;
  }[];
}

export interface Bars {
  readonly element: HTMLElement;
  update(groups: readonly BarGroup[]): void;
}

export function bars(): Bars {
  const element = h('div', { class: 'bars' });
  return {
    element,
    update(groups) {
      element.replaceChildren(
        ...groups.map(({ title, bars: shown }) => {
          const longest = Math.max(...shown.map(({ value }) => value));
          const lines = shown.map(({ name, value, look, reading }) => {
            const bar = h('span', { class: `bar-fill ${look}` });
            bar.style.setProperty('--share', String(value / longest));
            return h(
              'li',
              {},
              h('span', { class: 'bar-name' }, name),
              h('span', { class: 'bar-room' }, bar, h('span', { class: 'bar-value' }, reading)),
            );
          });
          return h('div', {}, h('p', { class: 'strip-title' }, title), h('ul', {}, ...lines));
        }),
      );
    },
  };
}
