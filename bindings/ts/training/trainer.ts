// Trains a small transformer.
import * as calls from '../calls.js';
import type { MainModule } from '../core.mjs';
import { NotFinite, nameOf } from '../enums.js';
import type { IdsInput } from '../models/ids.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, TrainingError, wrongShape } from '../runtime/errors.js';
import { destroyer, Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import { type ArrayLikeInput, type NdArray, operand } from '../runtime/tensor.js';
import { bytesOf, isDetached, type OwnBytes, type OwnFloats, type OwnIntegers } from '../runtime/typed-arrays.js';
import { type BatchLimits, batchCall, checkBatch, checkIds, putIds, type TrainingBatch } from './batch.js';
import { type CoreTrainer, trainingCore } from './core.js';
import { type ExportedModel, type ExportOptions, exportModel } from './export.js';
import { type CheckedTrainer, checkTrainer, type TrainerOptions } from './options.js';
import { checkPosition, type TrainedRope } from './position.js';

/** What `trainer.step` gives. */
export interface StepResult {
  /** The number of this step, from 1 on. */
  readonly step: number;
  /** Of the batch, before the step. */
  readonly loss: number;
  /** Norm of all gradients together, before it was limited. */
  readonly gradientNorm: number;
  /** Learning rate of this step. */
  readonly learningRate: number;
}

/** Options of `trainer.evaluate`. */
export interface EvaluateOptions {
  /**
   * For models with RoPE: what to use in its place, such as a scaling. Options that are not given are as trained. A `dynamic`
   * or `longrope` scaling given here takes the length of the batch where it has no sequenceLength; the trainer's own does not.
   */
  position?: Partial<TrainedRope>;
  /** Whether to give logits. Default false. */
  logits?: boolean;
}

/** What `trainer.evaluate` gives. Arrays are row major. */
export interface EvaluateResult {
  /** The mean of `losses`, by weight. */
  readonly loss: number;
  /** The share of predictions that are the target, by weight. */
  readonly accuracy: number;
  /** [B, T], cross entropy in nats; 0 where the weight is 0. */
  readonly losses: OwnFloats;
  /** [B, T], the most probable id; -1 where a logit is NaN. */
  readonly predictions: OwnIntegers;
  /** [B, T, vocab], if asked for. */
  readonly logits: OwnFloats | undefined;
}

interface Parameter {
  readonly name: string;
  readonly shape: readonly number[];
  readonly offset: number;
}

function readParameters(heap: Heap, where: string, core: CoreTrainer): readonly Parameter[] {
  return heap.scope(where, (scratch) => {
    const at = scratch(calls.TrainedParameter.doubles * 8);
    return Array.from({ length: core.parameterCount }, (_, i) => {
      heap.call(() => core.parameterAt(i, at));
      const { name, nameBytes, rows, columns, offset } = heap.readResult(calls.TrainedParameter, at);
      return { name: textAt(heap, name, nameBytes), shape: columns === 0 ? [rows] : [rows, columns], offset };
    });
  });
}

// Names are ASCII.
const textAt = (heap: Heap, at: number, bytes: number) => String.fromCharCode(...heap.bytes(at, bytes));

function createCore(heap: Heap, where: string, checked: CheckedTrainer): CoreTrainer {
  const make = (core: MainModule) => new (trainingCore(core).Trainer)();
  return heap.made(where, make, (core) =>
    heap.scope(where, (scratch) => {
      const { model, ...others } = checked.core;
      const position = checked.position.fields(heap, scratch);
      const fields = heap.putCall(scratch, calls.TrainerOptions, { ...others, model: { ...model, position } });
      const invalid = () =>
        new ArgumentRangeError(where, 'position', checked.given.position, 'has numbers out of range');
      heap.run(where, () => core.create(fields), invalid);
      return core;
    }),
  );
}

const shares = (weights: Float32Array, isCounted: (i: number) => boolean) =>
  weights.reduce((sum, weight, i) => sum + (isCounted(i) ? weight : 0), 0);

/**
 * A small transformer and its optimizer: pre-norm layers without biases, an unembedding of its own. Made by `rw.trainer()` of
 * 'ropewalk/training'. A seed and the same batches give the same bits on every engine.
 *
 * @example
 * using trainer = rw.trainer({ layers: 1, modelDim: 32, heads: 2, vocab: 16, context: 32, position: { encoding: 'rope' } });
 * const { loss } = trainer.step({ ids: { data: ids, shape: [8, 32] } });   // predicts each next id
 */
export class Trainer extends Handle {
  readonly #core: CoreTrainer;
  readonly #checked: CheckedTrainer;
  readonly #parameters: readonly Parameter[];

  /** @internal */
  constructor(heap: Heap, options: TrainerOptions) {
    const where = 'trainer';
    const checked = checkTrainer(where, options);
    const core = createCore(heap, where, checked);
    super(heap, destroyer(heap, core));
    this.#core = core;
    this.#checked = checked;
    this.#parameters = readParameters(heap, where, core);
  }

  /** Steps that were made. */
  get steps(): number {
    this.alive('trainer.steps');
    return this.heap.call(() => this.#core.steps);
  }

  /** How many numbers are trained. */
  get parameterCount(): number {
    return this.#parameters.reduce((sum, { shape }) => sum + check.sizeOf(shape), 0);
  }

  /**
   * One step of the optimizer.
   *
   * @throws ArgumentRangeError for ids out of range and sequences longer than context; TrainingError where a number was
   *   not finite: the trainer is then as it was.
   *
   * @example
   * const { step, loss } = trainer.step({ ids, targets: [2, 3, 1] });
   */
  step(batch: TrainingBatch): StepResult {
    const where = 'trainer.step';
    const because = 'the most is context';
    const checked = checkBatch(where, batch, this.#limits(this.#checked.context, because));
    this.alive(where);
    return this.heap.scope(where, (scratch) => {
      const fields = this.heap.putCall(scratch, calls.BatchCall, batchCall(this.heap, scratch, checked));
      const report = scratch(calls.StepReport.doubles * 8);
      this.heap.run(where, () => this.#core.step(fields, report));
      const { notFinite, tensor, tensorBytes, ...result } = this.heap.readResult(calls.StepReport, report);
      if (notFinite !== NotFinite.nothing) throw this.#failure(result.step, notFinite, tensor, tensorBytes);
      return result;
    });
  }

  /**
   * The loss of a batch, and what the model predicts.
   *
   * @throws ArgumentRangeError as step; but sequences may be longer than context, up to 16384 tokens, except for `learned`,
   *   `binary`, `axial`, `relative_key`, `relative_key_query` and `m3`, which end at their last position.
   *
   * @example
   * const scaling = { type: 'yarn', factor: 4, originalLength: 32 } as const;
   * const { loss, accuracy } = trainer.evaluate({ ids }, { position: { scaling } });
   */
  evaluate(batch: TrainingBatch, options: EvaluateOptions = {}): EvaluateResult {
    const where = 'trainer.evaluate';
    const given = check.options(where, 'options', options, ['position', 'logits']);
    const wantsLogits = check.boolean(where, 'logits', given.logits ?? false);
    const checked = checkBatch(where, batch, this.#longest());
    const position =
      given.position === undefined ? undefined : this.#otherPosition(where, given.position, checked.tokens);
    this.alive(where);
    const { heap } = this;
    const { vocab } = this.#checked.core.model;
    const rows = checked.ids.length;
    return heap.scope(where, (scratch) => {
      const [loss, losses, predictions] = [scratch(8), scratch(rows * 4), scratch(rows * 4)];
      const logits = wantsLogits ? scratch(rows * vocab * 4) : 0;
      const call = {
        batch: batchCall(heap, scratch, checked),
        loss,
        losses,
        predictions,
        logits,
        position: position && heap.putCall(scratch, calls.TrainedPositionOptions, position.fields(heap, scratch)),
      };
      const fields = heap.putCall(scratch, calls.EvaluateCall, call);
      const invalid = () => new ArgumentRangeError(where, 'position', given.position, 'has numbers out of range');
      heap.run(where, () => this.#core.evaluate(fields), invalid);
      const ids = new Int32Array(heap.bytes(predictions, rows * 4).slice().buffer);
      const { targets, weights } = checked;
      return {
        loss: heap.readDoubles(loss, 1)[0] as number,
        accuracy: shares(weights, (i) => ids[i] === targets[i]) / shares(weights, () => true),
        losses: heap.readFloats(losses, rows),
        predictions: ids,
        logits: wantsLogits ? heap.readFloats(logits, rows * vocab) : undefined,
      };
    });
  }

  /**
   * The attention weights of every head: [layers, B, H, T, T], queries before keys.
   *
   * @example
   * const { data, shape } = trainer.capture([1, 2, 3]);
   */
  capture(ids: IdsInput): NdArray {
    const where = 'trainer.capture';
    const checked = checkIds(where, check.read(ids), this.#longest());
    this.alive(where);
    const { layers, heads } = this.#checked.core.model;
    const { batch, tokens } = checked;
    const shape = check.shape(where, 'maps', [layers, batch, heads, tokens, tokens]);
    const data = this.heap.floatsOf(where, check.sizeOf(shape), (maps, scratch) => {
      const fields = putIds(this.heap, scratch, checked);
      this.heap.run(where, () => this.#core.capture(fields, maps));
    });
    return { data, shape };
  }

  /**
   * Copies of all parameters by name: `embedding`, `layers.0.query` and so on. Matrices are [out, in].
   *
   * @example
   * const { embedding } = trainer.parameters();
   */
  parameters(): Record<string, NdArray> {
    return this.#arrays('trainer.parameters', (core) => core.parameters());
  }

  /** The same of the gradients of the last step, a refused one too, before they were limited; zeros before the first. */
  gradients(): Record<string, NdArray> {
    return this.#arrays('trainer.gradients', (core) => core.gradients());
  }

  /**
   * Sets parameters by name. The optimizer's state stays as it is.
   *
   * @throws ArgumentRangeError for a name that there is not, and an array of another shape; nothing is set then.
   */
  setParameters(values: Readonly<Record<string, ArrayLikeInput>>): void {
    const where = 'trainer.setParameters';
    const known = this.#parameters.map(({ name }) => name);
    const given = check.read(values);
    check.keys(where, 'values', given, known);
    this.alive(where);
    const { heap } = this;
    const list = this.#parameters
      .filter(({ name }) => given[name] !== undefined)
      .map(({ name, shape, offset }) => {
        const input = operand(heap, where, `values.${name}`, given[name]);
        if (String(input.shape) === String(shape)) return { input, offset };
        throw wrongShape(where, `values.${name}`, given[name], input.shape, `[${shape.join(', ')}]`);
      });
    heap.scope(where, (scratch) => {
      const moves = list.map(({ input, offset }) => ({ from: input.address(scratch), offset, bytes: input.size * 4 }));
      const base = heap.call(() => this.#core.parameters());
      for (const { from, offset, bytes } of moves) heap.move(from, base + offset * 4, bytes);
    });
  }

  /**
   * The model as a checkpoint: causal softmax models with RMS norms and no positions, RoPE, or learned or sinusoidal ones of
   * mode `add`.
   *
   * @throws ArgumentRangeError for another model.
   *
   * @example
   * const { config, weights } = trainer.exportModel();
   * const model = await loadModel(main, { config, weights });   // main is what load() of 'ropewalk' gives
   */
  exportModel(options: ExportOptions = {}): ExportedModel {
    const parameters = this.#arrays('trainer.exportModel', (core) => core.parameters());
    return exportModel(this.#checked, parameters, options);
  }

  /**
   * Parameters, the optimizer's state and the number of steps, as bytes.
   *
   * @example
   * const bytes = trainer.save();
   * trainer.restore(bytes);
   */
  save(): OwnBytes {
    const where = 'trainer.save';
    this.alive(where);
    const size = this.#core.stateBytes;
    return this.heap.scope(where, (scratch) => {
      const at = scratch(size);
      this.heap.call(() => this.#core.save(at));
      return this.heap.bytes(at, size).slice();
    });
  }

  /**
   * Goes on from what a trainer of the same model and type of optimizer saved, to the same bits. What may differ is the seed,
   * the context, the numbers of the optimizer, normEps, and RoPE's base and scaling. FIRE's threshold and the sizes of tables of
   * positions (`maxPositions`, `rows`), which follow the context unless they are given, may not.
   *
   * @throws ArgumentRangeError for what another kind of trainer saved and for damaged bytes; nothing is changed then.
   */
  restore(bytes: Uint8Array): void {
    const where = 'trainer.restore';
    if (!check.isTypedArray(bytes, 'Uint8Array') || isDetached(bytes)) {
      throw new ArgumentTypeError(where, 'bytes', bytes, 'a Uint8Array, as save() gives it');
    }
    this.alive(where);
    const size = this.#core.stateBytes;
    const saved = bytesOf(bytes).slice();
    const refuse = (problem: string) => new ArgumentRangeError(where, 'bytes', bytes, problem);
    if (saved.length !== size) throw refuse(`has ${saved.length} bytes; the state of this trainer has ${size}`);
    this.heap.scope(where, (scratch) => {
      const at = this.heap.put(scratch, saved);
      const other =
        'is damaged, of a trainer with other options, or holds a number that is not finite; expected one of the same model';
      this.heap.run(
        where,
        () => this.#core.restore(at, size),
        () => refuse(other),
      );
    });
  }

  #limits(longest: number, because: string): BatchLimits {
    const { vocab } = this.#checked.core.model;
    return { vocab, longest, because, causal: this.#checked.causal };
  }

  #longest(): BatchLimits {
    const most = 2 ** 14;
    const { longest } = this.#checked.position;
    if (longest < most) return this.#limits(longest, 'the most is that of the encoding');
    return this.#limits(most, 'the most of a trainer');
  }

  #otherPosition(where: string, options: Partial<TrainedRope>, tokens: number) {
    const { position, context, causal, core } = this.#checked;
    const { modelDim, heads } = core.model;
    if (position.given.encoding !== 'rope') {
      const problem = `is given, but the model has encoding '${position.given.encoding}'; only RoPE can be changed`;
      throw new ArgumentRangeError(where, 'position', options, problem);
    }
    check.plainObject(where, 'position', options, "an object such as { scaling: { type: 'yarn', .. } }");
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    check.choice(where, 'position.encoding', given.encoding ?? 'rope', { rope: 0 });
    const changed: TrainedRope = { ...position.given, ...given };
    const { scaling } = given;
    // A scaling that is given, and depends on a length, takes that of the batch.
    const byLength = check.isPlain(scaling) && (scaling.type === 'dynamic' || scaling.type === 'longrope');
    const fitted = byLength
      ? { ...changed, scaling: { ...scaling, sequenceLength: scaling.sequenceLength ?? tokens } }
      : changed;
    return checkPosition(where, fitted, { modelDim, heads, context, causal });
  }

  #failure(step: number, notFinite: number, tensor: number, tensorBytes: number): TrainingError {
    const what = nameOf(NotFinite, notFinite);
    if (what === 'loss') return new TrainingError(step, undefined, 'the loss is not finite');
    const name = textAt(this.heap, tensor, tensorBytes);
    const subject = what === 'gradient' ? `the gradient of ${name}` : name;
    const advice = 'a lower learningRate, a warmup or a smaller clip may help';
    return new TrainingError(step, name, `${subject} is not finite; ${advice}`);
  }

  #arrays(where: string, baseOf: (core: CoreTrainer) => number): Record<string, NdArray> {
    this.alive(where);
    const base = this.heap.call(() => baseOf(this.#core));
    const array = ({ shape, offset }: Parameter) => ({
      data: this.heap.readFloats(base + offset * 4, check.sizeOf(shape)),
      shape,
    });
    return Object.fromEntries(this.#parameters.map((each) => [each.name, array(each)]));
  }
}
