// Compares a pass of a model with values that another framework stored, tensor by tensor in the order of computation.
// The first tensor that differs shows where to look.
import type { CaptureName } from '../layers/capture.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { scoreStages } from '../runtime/score-stages.js';
import type { NdArray } from '../runtime/tensor.js';
import { isDetached, kindOf } from '../runtime/typed-arrays.js';
import { Safetensors } from '../safetensors/file.js';
import type { DecodeOptions, DecoderModel, Decoding } from './decoder.js';
import type { EncodeOptions, EncoderModel, Encoding } from './encoder.js';
import type { IdsInput } from './ids.js';
import { Model } from './model.js';

/** Numbers with a shape, in the forms of other frameworks. */
export type GoldenArray =
  | {
      /** The numbers, row major. */
      readonly data: ArrayLike<number>;
      /** Sizes, outermost first. */
      readonly shape: readonly number[];
    }
  | {
      /** The numbers, row major. */
      readonly data: ArrayLike<number>;
      /** Sizes, outermost first. */
      readonly dims: readonly number[];
    };

/** Stored values by name: an open file or arrays. */
export type Golden = Safetensors | Readonly<Record<string, GoldenArray>>;

/** Options of compare(). */
export interface CompareOptions {
  /** Allowed error as a fraction of the tensor's largest golden value. Default 1e-4. */
  tolerance?: number;
  /** Allowed error in addition to `tolerance`, as an absolute value. Default 0. */
  absolute?: number;
  /** Maps the name of a golden tensor to ours; undefined skips the tensor. Default: no change. */
  names?: (name: string) => string | undefined;
  /** Axes of golden queries, keys, values and contexts; PyTorch mostly has `BHTD`. Default `BTHD`, as here. */
  layout?: 'BTHD' | 'BHTD';
  /** Options of the pass: `attentionMask`, `tokenTypes`, `positions`, `offset`. Default: none. */
  pass?: Pick<DecodeOptions, 'attentionMask' | 'positions' | 'offset'> & Pick<EncodeOptions, 'tokenTypes'>;
}

/** One tensor compared with its golden values. */
export interface ComparedTensor {
  /** Its name among the golden values. */
  readonly name: string;
  /** The layer that it is computed by or is the input of; undefined for `hidden`, `pooled`, `logits`. */
  readonly layer: number | undefined;
  /** Sizes of the stored values, with tokens before heads. */
  readonly shape: readonly number[];
  /** max |ours - golden| */
  readonly maxAbsolute: number;
  /** maxAbsolute / max |golden|, so that elements near zero do not dominate. */
  readonly maxRelative: number;
  /** Flat index of the largest difference. */
  readonly at: number;
  /** The model's value there. */
  readonly ours: number;
  /** The stored value there. */
  readonly golden: number;
  /** Why the tensor cannot be compared: an unknown name or another shape. The numbers are then NaN. */
  readonly problem: string | undefined;
  /** Whether maxAbsolute is at most absolute + tolerance * max |golden|. */
  readonly agrees: boolean;
}

/** The result of compare(). */
export interface Comparison {
  /** In the order of computation. */
  readonly tensors: readonly ComparedTensor[];
  /** The first that does not agree. */
  readonly first: ComparedTensor | undefined;
  /** Whether all do. */
  readonly agrees: boolean;
}

const where = 'compare';
const projected = ['q', 'k', 'v', 'qRotated', 'kRotated', 'vRotated'] as const;
// The captures of a layer, in the order of computation.
const stages: readonly CaptureName[] = [
  'normed',
  ...projected,
  ...scoreStages,
  'context',
  'attentionOut',
  'hidden',
  'mlp',
];
const ends = ['hidden', 'pooled', 'logits'] as const;
const headed: readonly string[] = [...projected, 'context'];

/** The result of a pass that a name refers to; `turn` is its place in the order of computation. */
type Target = { readonly turn: readonly [number, number] } & (
  | { readonly kind: 'capture'; readonly layer: number; readonly part: CaptureName }
  | { readonly kind: 'state'; readonly layer: number }
  | { readonly kind: 'end'; readonly part: (typeof ends)[number] }
);

interface Wanted {
  /** Its name among the golden values. */
  readonly name: string;
  /** Undefined for an unknown name. */
  readonly target: Target | undefined;
}

function targetOf(name: string, layers: number): Target | undefined {
  const end = ends.indexOf(name as (typeof ends)[number]);
  if (end >= 0) return { kind: 'end', part: ends[end] as (typeof ends)[number], turn: [layers, 1 + end] };
  const [, kind, number, part] = /^(hiddenStates|layers)\.(\d+)(?:\.(\w+))?$/.exec(name) ?? [];
  const layer = Number(number);
  if (kind === 'hiddenStates' && part === undefined && layer <= layers)
    return { kind: 'state', layer, turn: [layer, 0] };
  const stage = stages.indexOf(part as CaptureName);
  if (kind !== 'layers' || stage < 0 || layer >= layers) return undefined;
  return { kind: 'capture', layer, part: stages[stage] as CaptureName, turn: [layer, 1 + stage] };
}

type Passed = Decoding | Encoding;

// One pass that gives all wanted tensors that the model has.
function passOf(
  model: EncoderModel | DecoderModel,
  ids: IdsInput,
  wanted: readonly Wanted[],
  given: CompareOptions['pass'],
): Passed {
  const targets = wanted.flatMap(({ target }) => target ?? []);
  const captured = targets.flatMap((target) => (target.kind === 'capture' ? target : []));
  const capture = model.captureNames.filter((name) => captured.some(({ part }) => part === name));
  const captureLayers = [...new Set(captured.map(({ layer }) => layer))];
  const ending = (name: string) => targets.some((target) => target.kind === 'end' && target.part === name);
  const hiddenStates = targets.some(({ kind }) => kind === 'state');
  const asked = { ...given, hiddenStates, ...(capture.length > 0 && { capture, captureLayers }) };
  const logits = ending('logits') && model.hasLogits;
  if (model.kind === 'encoder')
    return model.pass(where, ids, { ...asked, logits, pooled: ending('pooled') && model.hasPooler });
  return model.pass(where, ids, { ...asked, logits: logits ? 'all' : 'none', hidden: ending('hidden') });
}

function oursOf(passed: Passed, target: Target): NdArray | undefined {
  if (target.kind === 'state') return passed.hiddenStates?.[target.layer];
  if (target.kind === 'end') return (passed as Encoding)[target.part];
  return passed.captured?.find(({ layer }) => layer === target.layer)?.[target.part];
}

// Reads F64 as float64 and everything else as float32, which is exact for the other dtypes.
async function goldenOf(golden: Golden, name: string): Promise<{ data: ArrayLike<number>; shape: readonly number[] }> {
  if (golden instanceof Safetensors) {
    const { dtype, shape } = golden.info(name);
    const data = await (dtype === 'F64' ? golden.tensor(name) : golden.tensor(name, { as: 'float32' }));
    return { data: data as ArrayLike<number>, shape };
  }
  const given = golden[name] as { data?: unknown; shape?: unknown; dims?: unknown } | undefined;
  const { data } = given ?? {};
  const isTyped = ['Float32Array', 'Float64Array'].includes(kindOf(data) ?? '') && !isDetached(data as Float32Array);
  // findIndex visits holes, which every() passes over.
  if (!isTyped && !(Array.isArray(data) && data.findIndex((entry) => typeof entry !== 'number') < 0)) {
    throw new ArgumentTypeError(where, `golden[${JSON.stringify(name)}].data`, data, 'an array of numbers');
  }
  const shape = check.shape(where, `golden[${JSON.stringify(name)}].shape`, given?.shape ?? given?.dims);
  return { data: data as ArrayLike<number>, shape };
}

// [.., H, T, D] to [.., T, H, D].
function tokensFirst(data: ArrayLike<number>, shape: readonly number[]): { data: ArrayLike<number>; shape: number[] } {
  const [dim = 1, tokens = 1, heads = 1] = [...shape].reverse();
  const swapped = new Float64Array(data.length);
  for (let i = 0; i < data.length; ++i) {
    const [d, rest] = [i % dim, Math.floor(i / dim)];
    const [t, h] = [rest % tokens, Math.floor(rest / tokens) % heads];
    const outer = Math.floor(rest / (tokens * heads));
    swapped[((outer * tokens + t) * heads + h) * dim + d] = data[i] as number;
  }
  return { data: swapped, shape: [...shape.slice(0, -3), tokens, heads, dim] };
}

// A batch axis of size 1 may be left out.
const withoutOnes = (shape: readonly number[]) => shape.join(', ').replace(/^(1, )+/, '');

// Other frameworks store the lowest float32 for a masked score.
const masked = (ours: number, golden: number) => ours === Number.NEGATIVE_INFINITY && golden <= -1e30;

function distance(ours: ArrayLike<number>, golden: ArrayLike<number>) {
  let [maxAbsolute, largest, at] = [0, 0, 0];
  for (let i = 0; i < golden.length; ++i) {
    const [a, b] = [ours[i] as number, golden[i] as number];
    if (masked(a, b)) continue;
    if (Math.abs(b) > largest && Math.abs(b) < Number.POSITIVE_INFINITY) largest = Math.abs(b);
    if (Object.is(a, b)) continue;
    const error = Math.abs(a - b);
    if (error <= maxAbsolute) continue;
    maxAbsolute = Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
    at = i;
  }
  return { maxAbsolute, largest, at };
}

function compared(
  { name, target }: Wanted,
  ours: NdArray | undefined,
  golden: { data: ArrayLike<number>; shape: readonly number[] },
  allowed: { readonly tolerance: number; readonly absolute: number },
): ComparedTensor {
  const layer = target === undefined || target.kind === 'end' ? undefined : target.layer;
  const none = { maxAbsolute: Number.NaN, maxRelative: Number.NaN, at: 0, ours: Number.NaN, golden: Number.NaN };
  const refused = (problem: string) => ({ name, layer, shape: golden.shape, ...none, problem, agrees: false });
  if (ours === undefined) return refused('is nothing that this model computes');
  if (withoutOnes(ours.shape) !== withoutOnes(golden.shape) || golden.data.length !== ours.data.length) {
    return refused(`has shape [${golden.shape.join(', ')}]; the model's is [${ours.shape.join(', ')}]`);
  }
  const { maxAbsolute, largest, at } = distance(ours.data, golden.data);
  return {
    name,
    layer,
    shape: ours.shape,
    maxAbsolute,
    at,
    problem: undefined,
    maxRelative: maxAbsolute === 0 ? 0 : maxAbsolute / largest,
    ours: ours.data[at] ?? Number.NaN,
    golden: golden.data[at] ?? Number.NaN,
    agrees: maxAbsolute <= allowed.absolute + allowed.tolerance * largest,
  };
}

function checkOptions(options: CompareOptions, kind: 'encoder' | 'decoder') {
  const given = check.options(where, 'options', options, ['tolerance', 'absolute', 'names', 'layout', 'pass']);
  const { tolerance = 1e-4, absolute = 0, names = (name: string) => name, layout = 'BTHD', pass = {} } = given;
  for (const [name, value] of Object.entries({ tolerance, absolute })) {
    if (check.finite(where, name, value) < 0) {
      throw new ArgumentRangeError(where, name, value, `is ${value}; expected 0 or more`);
    }
  }
  if (typeof names !== 'function') throw new ArgumentTypeError(where, 'names', names, 'a function');
  check.choice(where, 'layout', layout, { BTHD: 0, BHTD: 1 });
  check.keys(where, 'pass', pass, ['attentionMask', 'positions', kind === 'encoder' ? 'tokenTypes' : 'offset']);
  return { tolerance, absolute, names, layout, pass };
}

/**
 * Runs a model once and measures how far each tensor is from the value that another framework stored for the same ids.
 * Names of the stored values:
 * - `hiddenStates.0` ... `hiddenStates.N`: the input of each layer, and the output of the last norm;
 * - `layers.i.NAME`: an intermediate of layer i, NAME one of `CaptureName` (`q`, `qRotated`, `raw`, `probabilities`,
 *   `context`, ...);
 * - `hidden`, `pooled`, `logits`: outputs of the model.
 *
 * Shapes are those of `forward`; a batch axis of size 1 may be left out. A masked score is -Infinity here, and agrees
 * with any golden value of at most -1e30. A tensor of another name or shape is reported, not thrown.
 *
 * @param golden F32, F16, BF16 or F64 tensors of a safetensors file, or arrays by name.
 * @throws the errors of `forward`; SafetensorsError where the file cannot be read; ArgumentRangeError where no golden
 *   value is left to compare.
 *
 * @example
 * const golden = await openSafetensors(rw, 'golden.safetensors');
 * const { first, tensors } = await compare(model, [1, 2, 3], golden, { tolerance: 1e-5, layout: 'BHTD' });
 * for (const { name, maxAbsolute, maxRelative } of tensors) console.log(name, maxAbsolute, maxRelative);
 * if (first) console.log(`${first.name} is off first: ${first.problem ?? first.maxRelative}`);
 */
export async function compare(
  model: EncoderModel | DecoderModel,
  ids: IdsInput,
  golden: Golden,
  options: CompareOptions = {},
): Promise<Comparison> {
  const given = check.read(golden);
  if (!(model instanceof Model)) {
    throw new ArgumentTypeError(where, 'model', model, 'an encoder or a decoder, as loadModel() gives it');
  }
  if (!(given instanceof Safetensors) && !check.isPlain(given)) {
    throw new ArgumentTypeError(where, 'golden', given, 'an open safetensors file, or an object of arrays by name');
  }
  const { names, layout, pass, ...allowed } = checkOptions(options, model.kind);
  const wanted = (given instanceof Safetensors ? given.names : Object.keys(given)).flatMap((name): Wanted[] => {
    const ours = names(name);
    return ours === undefined ? [] : [{ name, target: targetOf(ours, model.config.layers.length) }];
  });
  if (wanted.length === 0) {
    throw new ArgumentRangeError(where, 'golden', given, 'has no tensor to compare with, or names leaves out all');
  }
  const turnOf = ({ target }: Wanted) => target?.turn ?? [Number.POSITIVE_INFINITY, 0];
  wanted.sort((a, b) => {
    const [[layerA, stageA], [layerB, stageB]] = [turnOf(a), turnOf(b)] as [[number, number], [number, number]];
    return layerA === layerB ? stageA - stageB : layerA - layerB;
  });
  const passed = passOf(model, ids, wanted, pass);
  const tensors: ComparedTensor[] = [];
  for (const each of wanted) {
    const { target } = each;
    const stored = await goldenOf(given, each.name);
    const swap =
      layout === 'BHTD' && target?.kind === 'capture' && headed.includes(target.part) && stored.shape.length > 2;
    const ours = target === undefined ? undefined : oursOf(passed, target);
    tensors.push(compared(each, ours, swap ? tokensFirst(stored.data, stored.shape) : stored, allowed));
  }
  const first = tensors.find(({ agrees }) => !agrees);
  return { tensors, first, agrees: first === undefined };
}
