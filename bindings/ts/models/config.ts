// Reads a Hugging Face config.json into the description of a model. Unknown architectures and options are refused by
// name; nothing is guessed.

import { readRopeConfig } from '../checkpoints/config.js';
import { configOf, Fields, isRecord, listOf, text } from '../checkpoints/fields.js';
import { isPerLayer } from '../checkpoints/kinds.js';
import { modelName } from '../checkpoints/models.js';
import type { RopeOptions } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, describe, unsupported } from '../runtime/errors.js';
import type { ModelDescription } from './description/description.js';
import type { Families, Family, LayerType } from './description/family.js';
import { common } from './families/common.js';
import type { families } from './families/families.js';

/**
 * The `model_type` of a supported model.
 * @useDeclaredType
 */
export type ModelArchitecture = keyof typeof families;

/** A model as its config.json describes it. */
export interface ModelConfig extends ModelDescription {
  /** `model_type`, without `_text`. */
  readonly architecture: ModelArchitecture;
  /** Fields of config.json that do not affect the computation. */
  readonly ignored: readonly string[];
}

/** Options of `readModelConfig`. */
export interface ModelConfigOptions {
  /**
   * The length in use, in tokens, on which `dynamic`, `longrope` and the tables of ALiBi's, T5's and XLNet's distances depend.
   * Default: the training length; these models then refuse longer input.
   */
  sequenceLength?: number;
}

// Hugging Face's classes around the same body, and whether they give logits over the vocabulary. The heads of classes
// for other tasks are not read.
const classes: Readonly<Record<string, boolean>> = {
  Model: false,
  TextModel: false,
  EncoderModel: false,
  ForCausalLM: true,
  LMHeadModel: true,
  WithLMHeadModel: true,
  ForMaskedLM: true,
  ForPreTraining: true,
  ForConditionalGeneration: true,
  MTModel: true,
  ForNextSentencePrediction: false,
  ForSequenceClassification: false,
  ForTokenClassification: false,
  ForQuestionAnswering: false,
  ForMultipleChoice: false,
};

// Unread fields that would change the computation; all others are about training, generation and file management.
const computes = /* @__PURE__ */ new RegExp(
  [
    ...['rope', 'rotary', 'window', 'alibi', 'bidirectional', 'sink', 'chunk', 'cross_attention'],
    ...['bias$', 'norm$', 'layernorm', 'softcap', 'multiplier', 'scal(e|ing|ar)$', 'gate[ds]?$', 'parallel'],
    ...['residual', 'quant', 'expert', 'moe', 'lora', 'sparse', 'adapter', 'shared', 'mup', 'per_layer'],
    ...['altup', 'laurel', 'pruned'],
  ].join('|'),
);
const harmless = /* @__PURE__ */ new Set([
  ...['original_max_position_embeddings', 'chunk_size_feed_forward'],
  ...['pretraining_tp', 'max_window_layers', 'resid_pdrop'],
]);

function isActive(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 0) return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function refuseUnread(fields: Fields): readonly string[] {
  const unused = fields.unused();
  const unknown = unused.find((field) => computes.test(field) && !harmless.has(field) && isActive(fields.peek(field)));
  if (unknown !== undefined) throw fields.misfit(unknown, ', which is not known for this model_type');
  return unused.map((field) => fields.name(field));
}

// Refuses features that no model here supports.
function refuseForeign(fields: Fields, { hasBoth }: Family): void {
  const foreign: Readonly<Record<string, string>> = {
    quantization_config: '; quantized checkpoints are not read',
    ...(!hasBoth && { is_encoder_decoder: '; expected an encoder or a decoder' }),
  };
  for (const [field, problem] of Object.entries(foreign)) {
    if (isActive(fields.peek(field))) throw fields.misfit(field, problem);
    fields.use(field);
  }
}

function architectureOf(outer: Fields, inner: Fields, families: Families): ModelArchitecture {
  const fields = inner.has('model_type') ? inner : outer;
  const name = modelName(fields.need('model_type', text));
  if (Object.hasOwn(families, name)) return name as ModelArchitecture;
  throw fields.misfit('model_type', unsupported(name, Object.keys(families)));
}

/** Whether a config names a model that loadModel knows from the start, or is none. @internal */
export function isCommon(source: unknown): boolean {
  const value = check.read(source);
  if (!isRecord(value)) return true;
  const inner = isRecord(value.text_config) ? value.text_config : value;
  const type = inner.model_type ?? value.model_type;
  return typeof type === 'string' && Object.hasOwn(common, modelName(type));
}

function logitsGiven(fields: Fields, { stem, otherStem = stem }: Family): boolean | undefined {
  const names = fields.optional('architectures', listOf('names', text));
  if (names === undefined || names.length === 0) return undefined;
  return names.some((name) => {
    const own = [stem, otherStem].find((each) => name.startsWith(each)) ?? name;
    const end = name.slice(own.length);
    if (Object.hasOwn(classes, end)) return classes[end];
    const expected = Object.keys(classes).map((each) => stem + each);
    const problem = `holds ${describe(name)}; expected of this model_type ${expected.join(', ')}`;
    throw new ArgumentRangeError(fields.where, fields.name('architectures'), names, problem);
  });
}

// Uses the reader of ropeFromConfig(), which supports all spellings.
function ropeReader(fields: Fields, architecture: string, { rope }: Family, sequenceLength: number | undefined) {
  const { where } = fields;
  const values = { ...fields.values, model_type: architecture };
  return (layerType: LayerType | undefined, headDim: number): RopeOptions | null => {
    if (rope === undefined) return null;
    const nested = ['rope_parameters', 'rope_scaling'].some((field) => {
      const object = fields.peek(field);
      return isRecord(object) && isPerLayer(object);
    });
    const perType = nested || rope.localBase || rope.slidingUnscaled || rope.withoutRope;
    const asked = {
      ...(perType && layerType && { layerType }),
      ...(sequenceLength !== undefined && { sequenceLength }),
    };
    const reading = readRopeConfig(where, values, asked);
    if (reading === null) return null;
    const ropeFields = Object.keys(values).filter((field) =>
      /rope|rotary|partial_rotary|^original_max_pos/.test(field),
    );
    const unread = reading.unused.find((field) => ropeFields.includes(field) && isActive(fields.peek(field)));
    fields.use(...ropeFields.filter((field) => field !== unread));
    if (reading.options.headDim !== headDim) {
      const problem = `is ${headDim}, but its rotary encoding is for heads of ${reading.options.headDim}`;
      throw new ArgumentRangeError(where, fields.name('head_dim'), headDim, problem);
    }
    if (reading.options.axes === undefined) return reading.options;
    const problem = 'is for positions with several axes; expected text';
    throw new ArgumentRangeError(where, fields.name('mrope_section'), values, problem);
  };
}

/** @internal */
export function modelConfig(
  where: string,
  source: unknown,
  options: ModelConfigOptions,
  families: Families,
): ModelConfig {
  const value = configOf(where, source);
  const { sequenceLength } = check.options(where, 'options', options, ['sequenceLength']);
  if (sequenceLength !== undefined) check.integer(where, 'sequenceLength', sequenceLength, 1);
  const outer = new Fields(where, '', value);
  const inner = isRecord(value.text_config) ? new Fields(where, 'text_config', value.text_config) : outer;
  const name = architectureOf(outer, inner, families);
  const family = families[name] as Family;
  if (inner !== outer && !family.images) throw outer.misfit('text_config', '; expected a model of text alone');
  for (const fields of new Set([outer, inner])) refuseForeign(fields, family);
  const givesLogits = logitsGiven(inner.has('architectures') ? inner : outer, family);
  const tied = inner === outer ? undefined : outer.optional('tie_word_embeddings', check.boolean);
  const rope = ropeReader(inner, name, family, sequenceLength);
  const found = family.read({ fields: inner, givesLogits, sequenceLength, headDim: family.rope?.headDim, rope });
  const { kind, position, layers } = found;
  // Any decoder can be told that its tokens see both sides.
  const seesBoth = kind === 'decoder' && inner.optional('is_causal', check.boolean) === false;
  if (seesBoth && (position === 'alibi' || layers.some(({ window }) => window))) {
    throw inner.misfit('is_causal', '; expected true with ALiBi or a window');
  }
  return {
    architecture: name,
    ...found,
    kind: seesBoth ? 'encoder' : kind,
    tiedEmbeddings: inner.has('tie_word_embeddings') ? found.tiedEmbeddings : (tied ?? found.tiedEmbeddings),
    ignored: refuseUnread(inner),
  };
}
