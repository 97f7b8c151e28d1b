// Warnings for the known traps of scaled RoPE in a configuration or in a plan's options.

import type { RopeOptions, RopeScaling } from '../rope/options.js';
import type { ConfigReading } from './config.js';

/** A trap in a configuration, or a fact that other programs often miss. */
export interface RopeWarning {
  /** The kind of warning, for programs. */
  readonly code: string;
  /** The warning, for people. */
  readonly message: string;
}

/** The data that warnings depend on. @internal */
export interface Explained {
  readonly options: RopeOptions;
  readonly scaling: RopeScaling;
  /** Undefined where options were explained. */
  readonly reading: ConfigReading | undefined;
  readonly attentionFactor: number;
  readonly trainingLength: number | undefined;
}

type Message = (e: Explained) => string | false | undefined;

/** YaRN's g(s, m): 0.1 m ln s + 1 for s > 1, otherwise 1. */
function magnitude(factor: number, mscale: number): number {
  return factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1;
}

/** A factor of the softmax scale besides the attention factor, in DeepSeek's latent attention. @internal */
export function softmaxScaleFactor({ scaling, reading }: Explained): number | undefined {
  if (scaling.type !== 'yarn') return undefined;
  if (reading && !reading.known.ropeHeadDim && !reading.kind.config.has('qk_rope_head_dim')) return undefined;
  const stated = reading?.kind.rope.peek('mscale_all_dim') ?? scaling.mscaleAllDim;
  return typeof stated === 'number' && stated !== 0 ? magnitude(scaling.factor, stated) ** 2 : undefined;
}

/** A number as text, with at most six digits. */
export function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}

const isFactor = (field: string) => /(^|\.)factor$/.test(field);

function factorNotUsed({ scaling, reading }: Explained): string | undefined {
  const field = reading?.unused.find(isFactor);
  if (field !== undefined) return `${field} is given, and RoPE of kind '${scaling.type}' does not use it`;
  if (scaling.type !== 'longrope' || scaling.factor === undefined || scaling.attentionFactor === undefined) return;
  return "factor is given, and 'longrope' uses it for the attention factor alone, which is given as well";
}

function factorAndRatio({ scaling, reading }: Explained): string | undefined {
  const { factor, maxLength, trainingLength, lengthAssumed } = reading?.kind ?? {};
  if (scaling.type !== 'yarn' && scaling.type !== 'longrope') return;
  if (factor === undefined || maxLength === undefined || trainingLength === undefined || lengthAssumed) return;
  const ratio = maxLength / trainingLength;
  if (ratio === factor) return;
  return `factor is ${factor}, max_position_embeddings / original length ${short(ratio)}; the factor wins, as in Hugging Face`;
}

function softmaxScale(e: Explained): string | undefined {
  const factor = softmaxScaleFactor(e);
  if (factor === undefined) return;
  return `DeepSeek's models also multiply the softmax scale by g(factor, mscale_all_dim)^2 = ${short(factor)}; no plan does that, give it to attention as part of scale`;
}

function equalMscales(e: Explained): string | undefined {
  const { scaling, reading } = e;
  if (scaling.type !== 'yarn' || reading?.kind.mscaleOverridden) return;
  if (!scaling.mscale || scaling.mscale !== scaling.mscaleAllDim || scaling.attentionFactor !== undefined) return;
  const rest = softmaxScaleFactor(e) === undefined ? '' : '; the magnitude is in the softmax scale alone';
  return `mscale and mscale_all_dim are both ${scaling.mscale}, so cos and sin are multiplied by 1${rest}`;
}

function attentionFactorWins({ scaling, reading }: Explained): string | undefined {
  const both = scaling.type === 'yarn' && scaling.attentionFactor !== undefined && !!scaling.mscale;
  if (!both && !reading?.kind.mscaleOverridden) return;
  return 'attention_factor is given; it overrides mscale and mscale_all_dim';
}

function typeField({ reading }: Explained): string | undefined {
  if (reading === undefined || !reading.kindName.fields.includes('type')) return;
  if (reading.kindName.mrope) return "type is 'mrope', an old name for the default kind with an mrope_section";
  return reading.kindName.fields.length === 2
    ? 'both type and rope_type are given; they agree, and rope_type is the one to keep'
    : 'type is the old name of rope_type; a program that reads rope_type alone takes this for the default kind';
}

function proportional({ scaling, options }: Explained): string | undefined {
  if (scaling.type === 'proportional') {
    return 'exponents run over the whole head and the last pairs stand still; partial rotary takes them over the coordinates that turn: the two are not interchangeable';
  }
  const { headDim, rotaryDim = headDim } = options;
  if (rotaryDim === headDim) return;
  return `${rotaryDim} of ${headDim} coordinates turn, with exponents over ${rotaryDim}; the kind 'proportional' takes them over ${headDim}: the two are not interchangeable`;
}

function modelUnknown({ reading }: Explained): string | undefined {
  if (reading?.sources.layers !== 'assumed') return;
  const assumed = Object.entries(reading.sources).filter(([, source]) => source === 'assumed');
  return `model_type ${JSON.stringify(reading.model)} is not known; assumed: ${assumed.map(([fact]) => fact).join(', ')}`;
}

function withoutRope({ reading }: Explained): string | undefined {
  if (reading === undefined) return;
  const type = reading.known.withoutRope;
  const field = reading.unused.find((name) => name.startsWith('no_rope_layer'));
  if (field) return `${field} takes RoPE from some of the layers, by their number`;
  if (type !== undefined && reading.kind.config.values.sliding_window !== null) return `layers of ${type} have no RoPE`;
}

function otherUnused({ reading }: Explained): string | undefined {
  const fields = reading?.unused.filter((field) => !isFactor(field)) ?? [];
  return fields.length === 0 ? undefined : `given and not used: ${fields.join(', ')}`;
}

function float32({ options, trainingLength }: Explained): string | undefined {
  if (options.angles !== 'float32') return;
  const at = trainingLength === undefined ? '' : `, ${short(6e-8 * trainingLength)} at ${trainingLength}`;
  return `angles formed in float32 are wrong by about 6e-8 times the position${at}, as in Hugging Face`;
}

// One entry for each trap; it gives the message, or nothing where the trap does not apply.
const traps: Readonly<Record<string, Message>> = {
  'factor-not-used': factorNotUsed,
  'unused-fields': otherUnused,
  'factor-and-ratio': factorAndRatio,
  'original-length-missing': ({ reading }) =>
    reading?.kind.lengthAssumed &&
    'original_max_position_embeddings is missing; max_position_embeddings stands in for it, as in Hugging Face, which is wrong if that is the extended length',
  'dynamic-cache': ({ scaling }) =>
    scaling.type === 'dynamic' &&
    'the base grows with the length, and keys in a cache keep the one they were turned with: freeze the length, rerotate the cache, or keep keys unrotated',
  'longrope-cache': ({ scaling }) =>
    scaling.type === 'longrope' &&
    'beyond the original length all frequencies change at once: rerotate the keys of a cache, or choose the list by the final length from the start',
  'longrope-at-original-length': ({ scaling }) =>
    scaling.type === 'longrope' &&
    `at exactly the original length, ${scaling.originalLength}, the short list still holds`,
  'softmax-scale': softmaxScale,
  'mscale-pair-equal': equalMscales,
  'attention-factor-overrides-mscale': attentionFactorWins,
  'type-field': typeField,
  'nested-truncate': ({ scaling, reading }) =>
    scaling.type === 'yarn' &&
    reading?.perLayer &&
    reading.kind.rope.has('truncate') &&
    'truncate stands in the parameters of one type of layer; Hugging Face reads it from the object around them and takes true',
  'proportional-or-partial': proportional,
  'model-unknown': modelUnknown,
  'pairing-unknown': ({ reading }) =>
    reading?.sources.pairing === 'assumed' &&
    `no pairing is known for model_type ${JSON.stringify(reading.model)}; '${reading.options.pairing}' is assumed, and a wrong one shows only after the first tokens`,
  'base-assumed': ({ reading }) => reading?.sources.base === 'assumed' && 'no field gives the base; 10000 is assumed',
  'turns-backwards': ({ reading }) =>
    reading?.known.reversed && 'pairs of this model turn by the negated angle, so its frequencies are negative',
  'layers-without-rope': withoutRope,
  'float32-angles': float32,
};

/** @internal */
export function warningsOf(explained: Explained): RopeWarning[] {
  return Object.entries(traps).flatMap(([code, trap]) => {
    const message = trap(explained);
    return message ? [{ code, message }] : [];
  });
}
