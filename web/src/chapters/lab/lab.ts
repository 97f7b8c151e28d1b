// What the lab's worker does: models are trained a few steps at a time, as often as the page asks.
import type { Training } from 'ropewalk/training';
import { textModel, tuningModel } from './further-programs';
import {
  inductionModel,
  lengthModel,
  type linearForms,
  linearModel,
  orderModel,
  type orderTasks,
  type positions,
} from './programs';

export type EncodingName = keyof typeof positions;

export interface OrderInput {
  readonly encodings: readonly EncodingName[];
  readonly task: keyof typeof orderTasks;
  readonly seed: number;
}

export interface InductionInput {
  readonly encoding: EncodingName;
  readonly layers: number;
  readonly seed: number;
}

export type InductionLook = ReturnType<ReturnType<typeof inductionModel>['look']>;

export interface LengthInput {
  readonly encoding: EncodingName;
  readonly base: number;
  readonly seed: number;
}

/** Losses by position, as trained and with each scaling. */
export type LengthLook = ReturnType<ReturnType<typeof lengthModel>['look']>;

export interface LinearInput {
  readonly forms: readonly (keyof typeof linearForms)[];
  readonly seed: number;
}

export interface TuningInput {
  readonly seed: number;
}

/** Losses at the longer text, as trained and with each scaling. */
export type TuningLook = ReturnType<ReturnType<typeof tuningModel>['look']>;

export interface TextInput {
  readonly text: string;
  readonly encoding: EncodingName;
  readonly seed: number;
}

export type TextLook = ReturnType<ReturnType<typeof textModel>['look']>;

/** What models make of sequences that they are not trained on. */
export interface OrderLook {
  /** In nats, of each model. */
  readonly loss: readonly number[];
  /** The share of tokens that each names right. */
  readonly share: readonly number[];
}

type Model<L> = { step(): void; look(): L; dispose(): void };

/** Models that are trained side by side. */
export class Run<L, R> {
  readonly #models: readonly Model<L>[];
  readonly #tell: (looks: readonly L[]) => R;

  constructor(models: readonly Model<L>[], tell: (looks: readonly L[]) => R) {
    this.#models = models;
    this.#tell = tell;
  }

  /** Trains each model so many steps, then looks at it. */
  advance(steps: number): R {
    for (const model of this.#models) for (let s = 0; s < steps; ++s) model.step();
    return this.#tell(this.#models.map((model) => model.look()));
  }

  dispose(): void {
    for (const model of this.#models) model.dispose();
  }
}

export class Lab {
  readonly #core: Training;

  constructor(core: Training) {
    this.#core = core;
  }

  /** Answers once the core is there. */
  version(): string {
    return this.#core.info().version;
  }

  order({ encodings, task, seed }: OrderInput) {
    const models = encodings.map((encoding) => orderModel(this.#core, encoding, task, seed));
    return new Run(
      models,
      (looks): OrderLook => ({
        loss: looks.map(({ loss }) => loss),
        share: looks.map(({ share }) => share),
      }),
    );
  }

  induction({ encoding, layers, seed }: InductionInput) {
    const model = inductionModel(this.#core, encoding, layers, seed);
    return new Run([model], ([look]) => look as InductionLook);
  }

  length({ encoding, base, seed }: LengthInput) {
    return new Run([lengthModel(this.#core, encoding, base, seed)], ([look]) => look as LengthLook);
  }

  tuning({ seed }: TuningInput) {
    return new Run([tuningModel(this.#core, seed)], ([look]) => look as TuningLook);
  }

  text({ text, encoding, seed }: TextInput) {
    return new Run([textModel(this.#core, text, encoding, seed)], ([look]) => look as TextLook);
  }

  /** The loss of each model. */
  linear({ forms, seed }: LinearInput) {
    return new Run(
      forms.map((form) => linearModel(this.#core, form, seed)),
      (looks) => looks,
    );
  }
}
