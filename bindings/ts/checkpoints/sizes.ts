// Reads the number of coordinates of a head and how many of them are rotated.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { agreed, type Fields, isRecord } from './fields.js';
import type { ClassDefaults } from './models.js';

const fractionFields = ['partial_rotary_factor', 'rotary_pct', 'rope_pct', 'rotary_emb_fraction'] as const;

const size = (where: string, name: string, value: unknown) => check.integer(where, name, value, 1, 2 ** 20);
const evenSize = (where: string, name: string, value: unknown) => check.even(where, name, value, 2 ** 20);

function fraction(where: string, name: string, value: unknown): number {
  const number = check.positive(where, name, value);
  if (number > 1) throw new ArgumentRangeError(where, name, value, `is ${number}; expected at most 1`);
  return number;
}

export interface HeadSize {
  readonly headDim: number;
  readonly rotaryDim: number;
  readonly fraction: number | undefined;
  /** Whether a field says how many coordinates rotate. */
  readonly stated: boolean;
}

/** @internal */
export function headSize(
  config: Fields,
  rope: Fields,
  layerType: string | undefined,
  kind: string,
  defaults: ClassDefaults,
): HeadSize {
  const sources = [...config.at(...fractionFields), ...rope.at(fractionFields[0])];
  const stated = agreed(sources, fraction);
  const part = stated?.value ?? defaults.rotaryFraction;
  // Multi-head latent attention: these coordinates are stored apart from the rest of a head. 0: there is none.
  const apart =
    config.optional('qk_rope_head_dim', (...at) => (at[2] === 0 ? 0 : evenSize(...at))) || defaults.ropeHeadDim;
  if (apart !== undefined) {
    if (stated !== undefined && stated.value !== 1) {
      const whole = config.optional('head_dim', evenSize) ?? 0;
      if (Math.trunc(whole * stated.value) !== apart) {
        throw config.misfit('qk_rope_head_dim', `, but ${stated.name} ${stated.value} of head_dim is not that`);
      }
    }
    return { headDim: apart, rotaryDim: apart, fraction: undefined, stated: config.has('qk_rope_head_dim') };
  }
  const full = headDim(config, layerType, defaults);
  if (full === undefined) {
    const heads = config.has('hidden_size') ? 'num_attention_heads' : 'head_dim';
    throw new ArgumentTypeError(config.where, config.name(heads), undefined, 'an integer, to know the size of a head');
  }
  if (kind === 'proportional') return { headDim: full, rotaryDim: full, fraction: part, stated: stated !== undefined };
  const turned = stated === undefined ? undefined : Math.trunc(full * stated.value);
  const named = agreed(config.at('rotary_dim', 'attn_rotary_emb'), evenSize);
  const explicit = named?.value;
  if (named !== undefined && turned !== undefined && explicit !== turned) {
    const problem = `is ${explicit}, but ${stated?.name} makes it ${turned}`;
    throw new ArgumentRangeError(config.where, named.name, explicit, problem);
  }
  const rotaryDim = explicit ?? turned ?? defaults.rotaryDim ?? Math.trunc(full * (part ?? 1));
  if (rotaryDim < 2 || rotaryDim % 2 !== 0) {
    const name = stated?.name ?? config.name('head_dim');
    const problem = `makes ${rotaryDim} of ${full} coordinates turn; expected an even number`;
    throw new ArgumentRangeError(config.where, name, stated?.value ?? full, problem);
  }
  if (rotaryDim > full) throw config.misfit('rotary_dim', `; a head has ${full} coordinates`);
  return { headDim: full, rotaryDim, fraction: part, stated: (explicit ?? turned) !== undefined };
}

function headDim(config: Fields, layerType: string | undefined, defaults: ClassDefaults): number | undefined {
  const global = config.optional('global_head_dim', evenSize);
  // Zamba2's heads attend to two vectors side by side; its kv_channels are those of one.
  const own =
    config.optional('attention_head_dim', evenSize) ?? agreed(config.at('head_dim', 'kv_channels'), evenSize)?.value;
  if (global === undefined && sizesPerLayer(config)) {
    throw config.misfit('per_layer_config', ' that sets head_dim; expected one size of head for these layers');
  }
  if (layerType === 'full_attention') {
    const wide = global ?? defaults.globalHeadDim;
    if (wide !== undefined) return wide;
  }
  if (own !== undefined || defaults.headDim !== undefined) return own ?? defaults.headDim;
  const hidden = agreed(config.at('hidden_size', 'n_embd', 'd_model'), size);
  const heads = agreed(config.at('num_attention_heads', 'n_head', 'n_heads', 'encoder_num_attention_heads'), size);
  if (hidden === undefined || heads === undefined) return undefined;
  if (hidden.value % heads.value !== 0) {
    const problem = `is ${hidden.value}, no multiple of ${heads.name}, ${heads.value}; expected that, or head_dim`;
    throw new ArgumentRangeError(config.where, hidden.name, hidden.value, problem);
  }
  return hidden.value / heads.value;
}

function sizesPerLayer(config: Fields): boolean {
  const layers = config.peek('per_layer_config');
  return isRecord(layers) && Object.values(layers).some((layer) => isRecord(layer) && 'head_dim' in layer);
}
