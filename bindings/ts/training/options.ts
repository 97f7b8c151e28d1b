// Options of a trainer: their types, their checks, and the calls that they become.
import type * as calls from '../calls.js';
import { Activation, LinearKernel, LinearRotation, NormKind, OptimizerKind, TrainedAttention } from '../enums.js';
import type { FeatureMap, RopeForm } from '../linear-attention/form.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { type CheckedPosition, checkPosition, type TrainerPosition } from './position.js';

/** Linear attention of a trainer. */
export interface TrainedLinearAttention {
  /** phi of the weights phi(q) . phi(k), or `cosine`: 1 + q/|q| . k/|k|. */
  linear: FeatureMap | 'cosine';
  /** Which sums RoPE turns. Default `numerator`, for `cosine` always `both`. */
  ropeForm?: RopeForm;
}

/**
 * AdamW as torch has it (arXiv:1711.05101), or SGD with momentum. The learning rate rises over `warmup` steps, then falls
 * by a cosine to `finalShare` of itself at step `totalSteps`, and stays there.
 */
export interface OptimizerOptions {
  /** Default `adamw`. */
  type?: 'adamw' | 'sgd';
  /** Peak learning rate, reached after `warmup` steps. Default 1e-3. */
  learningRate?: number;
  /** Of AdamW, each in [0, 1). Default [0.9, 0.999]. */
  betas?: readonly [number, number];
  /** Of SGD, in [0, 1). Default 0.9. */
  momentum?: number;
  /** Of AdamW; above 0. Default 1e-8. */
  eps?: number;
  /**
   * Weight decay. Before each update, of SGD too, the projections of layers and the unembedding are multiplied by
   * 1 - rate * weightDecay. Default 0.01.
   */
  weightDecay?: number;
  /** The largest norm of all gradients together; larger ones are scaled down. 0: any. Default 1. */
  clip?: number;
  /** Default 0. */
  warmup?: number;
  /** Default 0: the learning rate does not fall. */
  totalSteps?: number;
  /** In [0, 1]. Default 0.05. */
  finalShare?: number;
}

/** Options of `rw.trainer`. */
export interface TrainerOptions {
  /** From 1 to 8. */
  layers: number;
  /** d, the width of the model; a multiple of heads. */
  modelDim: number;
  /** H. */
  heads: number;
  /** Width of the feed-forward part of each layer. Default 0: there is none. */
  hiddenDim?: number;
  /** Ids are below it. */
  vocab: number;
  /** Tokens of the longest sequence that is trained on. Memory grows with them, beyond 256 not with their square. */
  context: number;
  /** Whether a token sees no later one. Default true. */
  causal?: boolean;
  /** Default `{ encoding: 'none' }`. */
  position?: TrainerPosition;
  /** Default `softmax`. Linear attention takes vectors of positions, RoPE and no positions. */
  attention?: 'softmax' | TrainedLinearAttention;
  /** Before attention, before the feed-forward part and before the logits. Default `rms`. */
  norm?: 'rms' | 'layer';
  /** Of the norms; above 0. Default 1e-6. */
  normEps?: number;
  /** Of the feed-forward part. Default `gelu`. */
  activation?: 'gelu' | 'silu';
  /** Default AdamW with a learning rate of 1e-3. */
  optimizer?: OptimizerOptions;
  /**
   * Below 2^53. Default 0. A parameter's start values depend only on the seed, its name and the model's sizes, so that models
   * with different encodings start alike.
   */
  seed?: number;
}

/** Checked options. @internal */
export interface CheckedTrainer {
  readonly given: TrainerOptions;
  readonly context: number;
  readonly causal: boolean;
  readonly position: CheckedPosition;
  /** All but the position. */
  readonly core: {
    readonly model: Omit<calls.TrainedModelOptions, 'position'>;
    readonly optimizer: calls.OptimizerOptions;
    readonly seed: number;
  };
}

const { elu1, relu, exp, cosine } = LinearKernel;
const linearKernels: Readonly<Record<FeatureMap | 'cosine', number>> = { elu1, relu, exp, cosine };
const { numerator, both } = LinearRotation;
const ropeForms: Readonly<Record<RopeForm, number>> = { numerator, both };
const norms: Readonly<Record<'rms' | 'layer', number>> = { rms: NormKind.rms, layer: NormKind.layer };
const activations: Readonly<Record<'gelu' | 'silu', number>> = { gelu: Activation.gelu, silu: Activation.silu };
const optimizers: check.Choices<NonNullable<OptimizerOptions['type']>, typeof OptimizerKind> = OptimizerKind;

type Attention = Pick<calls.TrainedModelOptions, 'attention' | 'kernel' | 'rotation'>;

const withoutScores: readonly TrainerPosition['encoding'][] = [
  'none',
  'sinusoidal',
  'binary',
  'learned',
  'axial',
  'rope',
];

function checkAttention(where: string, given: TrainerOptions['attention'], position: TrainerPosition): Attention {
  if (given === undefined || typeof given === 'string') {
    const attention = check.choice(where, 'attention', given ?? 'softmax', { softmax: TrainedAttention.softmax });
    return { attention, kernel: elu1, rotation: LinearRotation.none };
  }
  check.keys(where, 'attention', given, ['linear', 'ropeForm']);
  const kernel = check.choice(where, 'attention.linear', given.linear, linearKernels);
  if (!withoutScores.includes(position.encoding)) {
    const expected = withoutScores.join(', ');
    const problem = `is '${position.encoding}', which changes scores; linear attention has none and takes ${expected}`;
    throw new ArgumentRangeError(where, 'position.encoding', position.encoding, problem);
  }
  const turns = position.encoding === 'rope';
  const form = given.ropeForm ?? (kernel === cosine ? 'both' : 'numerator');
  const rotation = check.choice(where, 'attention.ropeForm', form, ropeForms);
  if (given.ropeForm !== undefined && (!turns || (kernel === cosine && rotation === numerator))) {
    const problem = turns
      ? "is 'numerator'; cosine similarity turns both sums, without which weights would not stay positive"
      : `is '${form}', and position is no RoPE`;
    throw new ArgumentRangeError(where, 'attention.ropeForm', form, problem);
  }
  return { attention: TrainedAttention.linear, kernel, rotation: turns ? rotation : LinearRotation.none };
}

// A number in a range that is open above, or not.
function within(where: string, name: string, value: number, most: number, isOpen: boolean): number {
  const number = check.finite(where, name, value);
  if (number >= 0 && (number < most || (!isOpen && number === most))) return number;
  const expected = most === Infinity ? 'at least 0' : isOpen ? `from 0 to below ${most}` : `from 0 to ${most}`;
  throw new ArgumentRangeError(where, name, value, `is ${number}; expected a number ${expected}`);
}

const optimizerFields = [
  'type',
  'learningRate',
  'betas',
  'momentum',
  'eps',
  'weightDecay',
  'clip',
  'warmup',
  'totalSteps',
  'finalShare',
] as const;

function checkOptimizer(where: string, options: OptimizerOptions): calls.OptimizerOptions {
  const given = check.options(where, 'optimizer', options, optimizerFields);
  const kind = check.choice(where, 'optimizer.type', given.type ?? 'adamw', optimizers);
  const others = kind === OptimizerKind.sgd ? (['betas', 'eps'] as const) : (['momentum'] as const);
  for (const name of others) {
    if (given[name] === undefined) continue;
    const problem = `is not an option of ${kind === OptimizerKind.sgd ? 'SGD' : 'AdamW'}`;
    throw new ArgumentRangeError(where, `optimizer.${name}`, given[name], problem);
  }
  const number = (name: string, value: number, most = Infinity, isOpen = true) =>
    within(where, `optimizer.${name}`, value, most, isOpen);
  const { betas = [0.9, 0.999] } = given;
  if (!Array.isArray(betas) || betas.length !== 2) {
    throw new ArgumentTypeError(where, 'optimizer.betas', betas, 'two numbers from 0 to below 1');
  }
  const steps = (name: 'warmup' | 'totalSteps') => check.integer(where, `optimizer.${name}`, given[name] ?? 0, 0);
  const [warmup, totalSteps] = [steps('warmup'), steps('totalSteps')];
  if (totalSteps > 0 && warmup > totalSteps) {
    const problem = `is ${warmup}; expected at most totalSteps, ${totalSteps}`;
    throw new ArgumentRangeError(where, 'optimizer.warmup', warmup, problem);
  }
  const isSgd = kind === OptimizerKind.sgd;
  return {
    kind,
    lr: number('learningRate', given.learningRate ?? 1e-3),
    beta1: isSgd ? number('momentum', given.momentum ?? 0.9, 1) : number('betas[0]', betas[0], 1),
    beta2: number('betas[1]', betas[1], 1),
    eps: check.positiveFloat32(where, 'optimizer.eps', given.eps ?? 1e-8),
    weightDecay: number('weightDecay', given.weightDecay ?? 0.01),
    clip: number('clip', given.clip ?? 1),
    warmup,
    totalSteps,
    finalShare: number('finalShare', given.finalShare ?? 0.05, 1, false),
  };
}

const fields = [
  'layers',
  'modelDim',
  'heads',
  'hiddenDim',
  'vocab',
  'context',
  'causal',
  'position',
  'attention',
  'norm',
  'normEps',
  'activation',
  'optimizer',
  'seed',
] as const;

/** @internal */
export function checkTrainer(where: string, options: TrainerOptions): CheckedTrainer {
  const given = check.options(where, 'options', options, fields);
  const heads = check.integer(where, 'heads', given.heads, 1, 2 ** 12);
  const modelDim = check.integer(where, 'modelDim', given.modelDim, 1, 2 ** 14);
  if (modelDim % heads !== 0) {
    throw new ArgumentRangeError(where, 'modelDim', modelDim, `is ${modelDim}; expected a multiple of heads, ${heads}`);
  }
  const context = check.integer(where, 'context', given.context, 1, 2 ** 14);
  const causal = check.boolean(where, 'causal', given.causal ?? true);
  const position = checkPosition(where, given.position ?? { encoding: 'none' }, { modelDim, heads, context, causal });
  const model = {
    vocab: check.integer(where, 'vocab', given.vocab, 1, 2 ** 20),
    modelDim,
    heads,
    layers: check.integer(where, 'layers', given.layers, 1, 8),
    hiddenDim: check.integer(where, 'hiddenDim', given.hiddenDim ?? 0, 0, 2 ** 16),
    causal,
    norm: check.choice(where, 'norm', given.norm ?? 'rms', norms),
    eps: check.positiveFloat32(where, 'normEps', given.normEps ?? 1e-6),
    activation: check.choice(where, 'activation', given.activation ?? 'gelu', activations),
    ...checkAttention(where, given.attention, position.given),
  };
  const optimizer = checkOptimizer(where, given.optimizer ?? {});
  const seed = check.integer(where, 'seed', given.seed ?? 0, 0);
  return { given, context, causal, position, core: { model, optimizer, seed } };
}
