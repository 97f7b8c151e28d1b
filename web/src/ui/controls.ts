// The controls of the figures: native inputs with visible labels. Each shows the value that it is given and reports
// what the reader wants; the state, not the control, decides what becomes of it.
import { freshId, h } from './dom';

export interface Control<T> {
  readonly element: HTMLElement;
  show(value: T): void;
}

export function button(label: string, pressed: () => void, look = 'button'): HTMLButtonElement {
  const element = h('button', { type: 'button', class: look }, label);
  element.addEventListener('click', pressed);
  return element;
}

/** A line of text, or several. */
export function textControl(
  label: string,
  maxLength: number,
  changed: (text: string) => void,
  rows?: number,
): Control<string> {
  const id = freshId();
  const input = h(rows ? 'textarea' : 'input', {
    id,
    rows,
    type: rows ? undefined : 'text',
    maxlength: maxLength,
    autocomplete: 'off',
    spellcheck: 'false',
    enterkeyhint: 'done',
  });
  let composing = false;
  input.addEventListener('input', () => {
    // While an input method composes, the text is pinyin on its way to characters.
    if (!composing) changed(input.value);
  });
  input.addEventListener('compositionstart', () => {
    composing = true;
  });
  input.addEventListener('compositionend', () => {
    composing = false;
    changed(input.value);
  });
  return {
    element: h('div', { class: 'control text' }, h('label', { for: id }, label), input),
    show(value) {
      if (!composing && input.value !== value) input.value = value;
    },
  };
}

export interface ChoiceControl<T> extends Control<T> {
  /** @param isOffered whether a value can be chosen now; default: all can. */
  show(value: T, isOffered?: (value: T) => boolean): void;
}

/** One of a few: radio buttons in a row. */
export function choiceControl<T extends string>(
  label: string,
  options: readonly { readonly value: T; readonly label: string }[],
  changed: (value: T) => void,
): ChoiceControl<T> {
  const name = freshId();
  const inputs = options.map(({ value, label }) => {
    const input = h('input', { type: 'radio', name, value });
    input.addEventListener('change', () => changed(value));
    return { value, input, element: h('label', {}, input, h('span', {}, label)) };
  });
  return {
    element: h(
      'fieldset',
      { class: 'control choice' },
      h('legend', {}, label),
      h('div', { class: 'segments' }, ...inputs.map(({ element }) => element)),
    ),
    show(shown, isOffered = () => true) {
      for (const { value, input } of inputs) {
        input.checked = value === shown;
        input.disabled = !isOffered(value);
      }
    },
  };
}

/** Yes or no. */
export function flagControl(label: string, changed: (value: boolean) => void): Control<boolean> {
  const input = h('input', { type: 'checkbox' });
  input.addEventListener('change', () => changed(input.checked));
  return {
    element: h('label', { class: 'control flag' }, input, h('span', {}, label)),
    show(value) {
      input.checked = value;
    },
  };
}

/** A number on a scale, with its reading in words. A screen reader is told it as the value of the slider, and nothing else. */
export function rangeControl(
  label: string,
  range: { readonly min: number; readonly max: number; readonly look?: string },
  changed: (value: number) => void,
): Control<{ readonly value: number; readonly reading: string; readonly spoken: string; readonly max?: number }> {
  const id = freshId();
  const reading = h('output', { for: id, 'aria-live': 'off' });
  const input = h('input', { id, type: 'range', min: range.min, max: range.max, step: 1, class: range.look });
  input.addEventListener('input', () => changed(input.valueAsNumber));
  return {
    element: h('div', { class: 'control range' }, h('label', { for: id }, label), reading, input),
    show({ value, reading: text, spoken, max = range.max }) {
      input.max = String(max);
      input.valueAsNumber = value;
      // The filled part of the track; with forced colours only the thumb shows it.
      input.style.setProperty('--filled', `${((value - range.min) / (max - range.min)) * 100}%`);
      input.setAttribute('aria-valuetext', spoken);
      reading.value = text;
    },
  };
}

export interface StepControl extends Control<number> {
  /** @param last the largest of the numbers that there is now; default: the last one. */
  show(value: number, last?: number): void;
}

/** One of some numbers in a row, on a slider. */
export function stepControl(
  label: string,
  values: readonly number[],
  print: (value: number) => string,
  changed: (value: number) => void,
  look?: string,
): StepControl {
  const range = { min: 0, max: values.length - 1, ...(look && { look }) };
  const slider = rangeControl(label, range, (index) => changed(values[index] ?? 0));
  return {
    element: slider.element,
    show(value, last) {
      const max = last === undefined ? range.max : values.indexOf(last);
      slider.show({ value: values.indexOf(value), reading: print(value), spoken: print(value), max });
    },
  };
}

/** The whole numbers from `from` to `to`, for a slider. */
export function whole(from: number, to: number, step = 1): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
}
