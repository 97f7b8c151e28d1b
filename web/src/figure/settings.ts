// What a figure lets the reader set: a field of the state and the control that sets it, declared together. The figure
// makes the controls and keeps them in step with the state.
import {
  type ChoiceControl,
  type Control,
  choiceControl,
  flagControl,
  type StepControl,
  stepControl,
  textControl,
} from '../ui/controls';
import { h } from '../ui/dom';
import { choice, type Field, flag, oneOf, type Section, text } from '../ui/state';

export interface Setting<T, C extends Control<T> = Control<T>> extends Field<T> {
  /** Changes that follow one another, as under a slider, are one step of "back" together. */
  readonly isGradual: boolean;
  /** What else a change sets. */
  readonly also?: Readonly<Record<string, unknown>>;
  control(changed: (value: T) => void): C;
}

type Fields = Readonly<Record<string, Field<unknown>>>;

/** The controls of those fields that have one. */
export type Controls<F extends Fields> = {
  readonly [K in keyof F as F[K] extends { control(changed: never): unknown } ? K : never]: F[K] extends {
    control(changed: never): infer C;
  }
    ? C
    : never;
};

/** One of some numbers in a row. */
export function slider(
  label: string,
  values: readonly number[],
  initial: number,
  print: (value: number) => string,
  look?: string,
): Setting<number, StepControl> {
  return {
    ...oneOf(values, initial),
    isGradual: true,
    control: (changed) => stepControl(label, values, print, changed, look),
  };
}

/** One of a few names. */
export function oneName<T extends string>(
  label: string,
  names: readonly T[],
  initial: T,
  print: (name: T) => string,
): Setting<T, ChoiceControl<T>> {
  return {
    ...choice(names, initial),
    isGradual: false,
    control: (changed) => {
      const options = names.map((value) => ({ value, label: print(value) }));
      return choiceControl(label, options, changed);
    },
  };
}

/** Yes or no. */
export function toggle(label: string, initial: boolean): Setting<boolean> {
  return { ...flag(initial), isGradual: false, control: (changed) => flagControl(label, changed) };
}

/** A line of text. */
export function line(
  label: string,
  maxLength: number,
  initial: string,
  also: Readonly<Record<string, unknown>> = {},
): Setting<string> {
  return {
    ...text(maxLength, initial),
    also,
    isGradual: true,
    control: (changed) => textControl(label, maxLength, changed),
  };
}

const hasControl = (field: Field<unknown>): field is Setting<unknown> => 'control' in field;

/** Makes the controls, each bound to its field. */
export function controlsOf<F extends Fields>(fields: F, section: Section<F>): Controls<F> {
  const made = Object.entries(fields).flatMap(([name, field]) => {
    if (!hasControl(field)) return [];
    const changed = (value: unknown): void =>
      section.set({ ...field.also, [name]: value } as never, field.isGradual ? name : undefined);
    return [[name, field.control(changed)] as const];
  });
  return Object.fromEntries(made) as Controls<F>;
}

/** Controls beside each other, as many as there is room for. */
export function together(...controls: readonly { readonly element: Element }[]): HTMLElement {
  return h('div', { class: 'pair-of-controls' }, ...controls.map(({ element }) => element));
}
