// Runs a decoder over windows of a text and takes the loss of each token.

import type { RopeScaling } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { EventLoop } from '../runtime/event-loop.js';
import { logProbability } from '../sampling/sampling.js';
import { readKeys, readOptions } from '../sources/tensor-file.js';
import { DecoderModel } from './decoder.js';
import { type IdsInput, readIds } from './ids.js';
import { checkLength } from './positions.js';

/** Progress of a measurement, in tokens that have run. */
export interface MeasureProgress {
  /** Tokens that have run, in all windows. */
  readonly loaded: number;
  /** Tokens of all windows. */
  readonly total: number;
}

/** Options of `perplexity` and `lengthCurve`. */
export interface Measuring {
  /** Tokens of a window, at least 2: a token sees those before it in its window. Default 1024. */
  length?: number;
  /** Ends the work with the signal's reason. */
  signal?: AbortSignal;
  /** Called after every piece of a window. An error that it throws ends the work. */
  onProgress?: (progress: MeasureProgress) => void;
}

/** Options of `perplexity`. */
export interface PerplexityOptions extends Measuring {
  /**
   * How many tokens a window begins after the one before it, from 1 to `length`. Tokens that windows share are measured in
   * the first of them. A small stride gives every token much to see and takes long. Default half of `length`.
   */
  stride?: number;
}

/** The result of `perplexity`. */
export interface Perplexity {
  /** e^loss. */
  readonly perplexity: number;
  /** Mean of the losses, in nats. */
  readonly loss: number;
  /** Number of tokens that were measured. */
  readonly tokens: number;
  /** [T], -ln of the probability of each token; NaN for tokens that see none: the first, and with `stride` `length` that of every window. */
  readonly losses: Float64Array;
  /** [T], how many tokens each sees; 0 where its loss is NaN. */
  readonly contexts: Float64Array;
}

/** Options of `lengthCurve`. */
export interface LengthCurveOptions extends Measuring {
  /** Number of ranges that positions are divided into, from 1 to `length` - 1. Default 16, or `length` - 1 if that is less. */
  points?: number;
}

/** The loss of tokens at a range of positions. */
export interface LengthPoint {
  /** The fewest tokens that one of them sees. */
  readonly first: number;
  /** The most tokens that one of them sees. */
  readonly last: number;
  /** Number of tokens that were measured. */
  readonly tokens: number;
  /** Mean of their losses, in nats. */
  readonly loss: number;
  /** e^loss. */
  readonly perplexity: number;
}

/** The loss of a text by position, with one scaling. */
export interface LengthCurve {
  /** Its name among the scalings. */
  readonly name: string;
  /** e^loss over all positions. */
  readonly perplexity: number;
  /** Mean of all losses, in nats. */
  readonly loss: number;
  /** In the order of positions. */
  readonly points: readonly LengthPoint[];
}

// Tokens that run at once, and the most logits among them.
const piece = 64;
const logitsAtOnce = 2 ** 22;
const defaultLength = 1024;
const defaultPoints = 16;

/** Checked arguments. */
interface Measurement {
  readonly where: string;
  readonly ids: Float64Array;
  /** Tokens of a window, as the caller has it, and at most those of the text. */
  readonly asked: number;
  readonly length: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: MeasureProgress) => void) | undefined;
}

function checkText(
  where: string,
  model: unknown,
  ids: IdsInput,
  given: PerplexityOptions,
): Measurement & { readonly model: DecoderModel } {
  if (!(model instanceof DecoderModel)) {
    throw new ArgumentTypeError(where, 'model', model, 'a decoder, as loadModel() gives it');
  }
  const { values, shape } = readIds(where, ids, model.config.vocabSize);
  if (!model.hasLogits) throw new ArgumentRangeError(where, 'model', model, 'has no head; expected one for logits');
  if (shape.length !== 1 || values.length < 2) {
    throw new ArgumentRangeError(
      where,
      'ids',
      ids,
      `has shape [${shape.join(', ')}]; expected [T], at least two tokens`,
    );
  }
  const asked = check.integer(where, 'length', given.length ?? defaultLength, 2);
  const length = Math.min(asked, values.length);
  const { signal, onProgress } = readOptions(where, given as object) as PerplexityOptions;
  return { model, where, ids: values, asked, length, signal, onProgress };
}

/** The sum of what is measured, and how much it is. */
class Mean {
  tokens = 0;
  #sum = 0;

  add(loss: number): void {
    this.tokens += 1;
    this.#sum += loss;
  }

  get values(): { tokens: number; loss: number; perplexity: number } {
    const loss = this.#sum / this.tokens;
    return { tokens: this.tokens, loss, perplexity: Math.exp(loss) };
  }
}

// The windows of a text: where each begins and ends, and the first token whose loss is taken in it.
function windowsOf(tokens: number, length: number, stride: number) {
  const windows: { readonly begin: number; readonly end: number; readonly from: number }[] = [];
  for (let begin = 0, measured = 1; measured < tokens; begin += stride) {
    const end = Math.min(begin + length, tokens);
    windows.push({ begin, end, from: Math.max(measured, begin + 1) });
    measured = end;
  }
  return windows;
}

// Calls `take` with each token whose loss is taken, and how many it sees. `ran` counts tokens from one model to the next.
async function measure(
  model: DecoderModel,
  { where, ids, length, signal, onProgress }: Measurement,
  windows: ReturnType<typeof windowsOf>,
  progress: { ran: number; total: number },
  take: (token: number, seen: number, loss: number) => void,
): Promise<void> {
  const { vocabSize } = model.config;
  const atOnce = Math.max(1, Math.min(piece, Math.floor(logitsAtOnce / vocabSize)));
  const loop = new EventLoop();
  checkLength(where, model, 'length', length, length - 1);
  const cache = model.kvCache({ capacity: length - 1, chunk: atOnce });
  try {
    for (const { begin, end, from } of windows) {
      cache.reset();
      // A token's logits are those of the next one; the last of the window has none there.
      for (let at = begin, next = at; at < end - 1; at = next) {
        signal?.throwIfAborted();
        const unread = at < from - 1;
        next = Math.min(at + atOnce, unread ? from - 1 : end - 1);
        const pass = { cache, logits: unread ? 'none' : 'all' } as const;
        const { logits } = model.pass(where, ids.subarray(at, next), pass);
        for (let t = at; logits !== undefined && t < next; ++t) {
          const row = logits.data.subarray((t - at) * vocabSize, (t - at + 1) * vocabSize);
          take(t + 1, t + 1 - begin, -logProbability(row, ids[t + 1] as number));
        }
        progress.ran += next - at;
        onProgress?.({ loaded: progress.ran, total: progress.total });
        await loop.pause();
      }
    }
  } finally {
    cache.dispose();
  }
}

const tokensIn = (windows: ReturnType<typeof windowsOf>) =>
  windows.reduce((sum, { begin, end }) => sum + end - begin - 1, 0);

/** @internal */
export async function measurePerplexity(
  model: DecoderModel,
  ids: IdsInput,
  options: PerplexityOptions,
): Promise<Perplexity> {
  const where = 'perplexity';
  const given = check.options(where, 'options', options, ['length', 'stride', ...readKeys]);
  const text = checkText(where, model, ids, given);
  const { asked, length } = text;
  const stride = check.integer(where, 'stride', given.stride ?? Math.floor(asked / 2), 1, asked);
  const windows = windowsOf(text.ids.length, length, stride);
  const losses = new Float64Array(text.ids.length).fill(Number.NaN);
  const contexts = new Float64Array(text.ids.length);
  const mean = new Mean();
  await measure(model, text, windows, { ran: 0, total: tokensIn(windows) }, (token, seen, loss) => {
    losses[token] = loss;
    contexts[token] = seen;
    mean.add(loss);
  });
  return { ...mean.values, losses, contexts };
}

/** @internal */
export async function measureLengths(
  model: DecoderModel,
  ids: IdsInput,
  scalings: Readonly<Record<string, RopeScaling>>,
  options: LengthCurveOptions,
): Promise<LengthCurve[]> {
  const where = 'lengthCurve';
  const given = check.options(where, 'options', options, ['length', 'points', ...readKeys]);
  const text = checkText(where, model, ids, given);
  const last = text.length - 1;
  const points = check.integer(where, 'points', given.points ?? Math.min(defaultPoints, last), 1, last);
  const named = Object.entries(check.plainObject(where, 'scalings', check.read(scalings), 'scalings by name'));
  const scaledBy = (scaling: unknown) => new DecoderModel(model.changed({ scaling: scaling as RopeScaling }, where));
  // All are tried before the first is measured.
  for (const [name, scaling] of named) {
    if (scaling === undefined)
      throw new ArgumentTypeError(where, `scalings.${name}`, scaling, "a scaling, as { type: 'default' }");
    scaledBy(scaling).dispose();
  }
  const windows = windowsOf(text.ids.length, text.length, text.length);
  const progress = { ran: 0, total: named.length * tokensIn(windows) };
  const curves: LengthCurve[] = [];
  for (const [name, scaling] of named) {
    const scaled = scaledBy(scaling);
    try {
      curves.push({ name, ...(await curveOf(scaled, text, windows, progress, points)) });
    } finally {
      scaled.dispose();
    }
  }
  return curves;
}

async function curveOf(
  model: DecoderModel,
  text: Measurement,
  windows: ReturnType<typeof windowsOf>,
  progress: { ran: number; total: number },
  points: number,
): Promise<Omit<LengthCurve, 'name'>> {
  const all = new Mean();
  const last = text.length - 1;
  const means = Array.from({ length: points }, () => new Mean());
  // Range k has the tokens that see more than k and at most k + 1 parts of `last`.
  const rangeOf = (seen: number) => Math.ceil((seen * points) / last) - 1;
  await measure(model, text, windows, progress, (_, seen, loss) => {
    all.add(loss);
    means[rangeOf(seen)]?.add(loss);
  });
  const { loss, perplexity } = all.values;
  const endOf = (k: number) => Math.floor((k * last) / points);
  return {
    loss,
    perplexity,
    points: means.map((mean, k): LengthPoint => ({ first: endOf(k) + 1, last: endOf(k + 1), ...mean.values })),
  };
}
