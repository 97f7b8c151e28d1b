// What a Hugging Face config.json says of a whole model: one plain description that the rest of loading goes by.
// Architectures and options that are not known here are refused by name; nothing is guessed at.

import { Fields, isRecord, text } from '../checkpoints/fields.js';
import { modelName } from '../checkpoints/models.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, describe } from '../runtime/errors.js';
import {
  readGemma,
  readGemma2,
  readGemma3,
  readGptNeox,
  readLlama,
  readMistral,
  readPhi3,
  readQwen2,
  readQwen3,
  readSmollm3,
} from './description/decoders.js';
import type { ModelArchitecture, ModelConfig, ModelDescription, Reading } from './description/description.js';
import { readBert, readRoformer } from './families/encoders.js';

/** Options of `readModelConfig`. */
export interface ModelConfigOptions {
  /**
   * The length in use, which `dynamic` and `longrope` depend on. Default: that of training; longer input is then
   * refused.
   */
  sequenceLength?: number;
}

interface Architecture {
  /** What names in `architectures` begin with. */
  readonly stem: string;
  readonly read: (reading: Reading) => ModelDescription;
}

// One entry makes an architecture known.
const architectures: Readonly<Record<ModelArchitecture, Architecture>> = {
  bert: { stem: 'Bert', read: readBert },
  roformer: { stem: 'RoFormer', read: readRoformer },
  gpt_neox: { stem: 'GPTNeoX', read: readGptNeox },
  llama: { stem: 'Llama', read: readLlama },
  mistral: { stem: 'Mistral', read: readMistral },
  qwen2: { stem: 'Qwen2', read: readQwen2 },
  qwen3: { stem: 'Qwen3', read: readQwen3 },
  gemma: { stem: 'Gemma', read: readGemma },
  gemma2: { stem: 'Gemma2', read: readGemma2 },
  gemma3: { stem: 'Gemma3', read: readGemma3 },
  phi3: { stem: 'Phi3', read: readPhi3 },
  smollm3: { stem: 'SmolLM3', read: readSmollm3 },
};

// Classes of Hugging Face that wrap the same body, and whether they give logits over the vocabulary. Those of other
// tasks have heads that are not read.
const classes: Readonly<Record<string, boolean>> = {
  Model: false,
  TextModel: false,
  ForCausalLM: true,
  ForMaskedLM: true,
  ForPreTraining: true,
  ForConditionalGeneration: true,
  ForNextSentencePrediction: false,
  ForSequenceClassification: false,
  ForTokenClassification: false,
  ForQuestionAnswering: false,
  ForMultipleChoice: false,
};

// Of fields that nobody read, those that would change what is computed; the others are for training, generation and
// housekeeping.
const computes = new RegExp(
  [
    ...['rope', 'rotary', 'window', 'alibi', 'bidirectional', 'sink', 'chunk', 'cross_attention'],
    ...['bias$', 'norm$', 'layernorm', 'softcap', 'multiplier', 'scal(e|ing|ar)$', 'gate[ds]?$', 'parallel'],
    ...['residual', 'quant', 'expert', 'moe', 'lora', 'sparse', 'adapter', 'shared', 'mup', 'per_layer'],
    ...['altup', 'laurel'],
  ].join('|'),
);
const harmless = new Set([
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

// What no model here has, whatever its type.
function refuseForeign(fields: Fields): void {
  const foreign: Readonly<Record<string, string>> = {
    quantization_config: '; quantized checkpoints are not read',
    is_encoder_decoder: '; expected an encoder or a decoder',
    add_cross_attention: '; cross-attention is not read',
    pruned_heads: '; pruned heads are not read',
  };
  for (const [field, problem] of Object.entries(foreign)) {
    if (isActive(fields.peek(field))) throw fields.misfit(field, problem);
    fields.use(field);
  }
}

function architectureOf(where: string, outer: Fields, inner: Fields): ModelArchitecture {
  const expected = `one of ${Object.keys(architectures).map(describe).join(', ')}`;
  const modelType = inner.optional('model_type', text) ?? outer.need('model_type', text);
  const name = modelName(modelType);
  if (Object.hasOwn(architectures, name)) return name as ModelArchitecture;
  throw new ArgumentRangeError(
    where,
    outer.name('model_type'),
    modelType,
    `is ${describe(modelType)}; expected ${expected}`,
  );
}

function givesLogits(fields: Fields, { stem }: Architecture): boolean | undefined {
  const names = fields.optional('architectures', (where, name, value) => {
    if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value as readonly string[];
    throw new ArgumentTypeError(where, name, value, 'an array of names');
  });
  if (names === undefined || names.length === 0) return undefined;
  return names.some((name) => {
    const known = name.startsWith(stem) && Object.hasOwn(classes, name.slice(stem.length));
    if (known) return classes[name.slice(stem.length)];
    const expected = Object.keys(classes).map((end) => stem + end);
    const problem = `holds ${describe(name)}; expected of this model_type ${expected.join(', ')}`;
    throw new ArgumentRangeError(fields.where, fields.name('architectures'), names, problem);
  });
}

/**
 * What a Hugging Face config.json (the parsed object; of Gemma 3 with images, its text_config is read) says of a model,
 * in the terms of this package. Defaults are those of Hugging Face's classes.
 *
 * @throws ArgumentTypeError or ArgumentRangeError naming the field: an architecture or an option that is not known, a
 *   size that is missing, two fields that contradict each other. Nothing is run that the checkpoint does not mean.
 *
 * @example
 * const config = readModelConfig(JSON.parse(await readFile('SmolLM2-135M/config.json', 'utf8')));
 * // { architecture: 'llama', kind: 'decoder', modelDim: 576, heads: 9, kvHeads: 3, layers: [...30], ... }
 */
export function readModelConfig(
  config: Readonly<Record<string, unknown>>,
  options: ModelConfigOptions = {},
): ModelConfig {
  return modelConfig('readModelConfig', config, options);
}

/** @internal */
export function modelConfig(where: string, value: unknown, options: ModelConfigOptions): ModelConfig {
  if (!isRecord(value)) throw new ArgumentTypeError(where, 'config', value, 'an object, as a config.json holds it');
  const { sequenceLength } = check.options<ModelConfigOptions>(where, 'options', options, ['sequenceLength']);
  if (sequenceLength !== undefined) check.integer(where, 'sequenceLength', sequenceLength, 1);
  const outer = new Fields(where, '', value);
  const inner = isRecord(value.text_config) ? new Fields(where, 'text_config', value.text_config) : outer;
  const name = architectureOf(where, outer, inner);
  if (inner !== outer && name !== 'gemma3') throw outer.misfit('text_config', '; expected a model of text alone');
  const architecture = architectures[name];
  for (const fields of new Set([outer, inner])) refuseForeign(fields);
  const logits = givesLogits(inner.has('architectures') ? inner : outer, architecture);
  const tied = inner === outer ? undefined : outer.optional('tie_word_embeddings', check.boolean);
  const found = architecture.read({ fields: inner, architecture: name, sequenceLength });
  return {
    architecture: name,
    ...found,
    tiedEmbeddings: inner.has('tie_word_embeddings') ? found.tiedEmbeddings : (tied ?? found.tiedEmbeddings),
    givesLogits: logits,
    ignored: refuseUnread(inner),
  };
}
