// The model types that can be loaded, without `_text`. To add one, add an entry. loadModel imports this file when a config
// names one that common.ts does not have. Those of which only the rotary encoding is known are in others.ts.

import { bloom } from './bloom.js';
import { cohere, cohere2 } from './cohere.js';
import { common } from './common.js';
import { debertaV2 } from './deberta.js';
import { gptNeox } from './gpt-neox.js';
import { gpt2 } from './gpt2.js';
import { gptj } from './gptj.js';
import { granite } from './granite.js';
import { bertOrJina } from './jina-bert.js';
import { llama4 } from './llama4.js';
import { marian } from './marian.js';
import { mixtral } from './mixtral.js';
import { modernBert } from './modernbert.js';
import { mpt } from './mpt.js';
import { nomicBert } from './nomic-bert.js';
import { olmo2, olmo3 } from './olmo2.js';
import { opt } from './opt.js';
import { phi } from './phi.js';
import { qwen3Moe } from './qwen3-moe.js';
import { camembert, roberta, xlmRoberta } from './roberta.js';
import { roformer } from './roformer.js';
import { ropewalk } from './ropewalk.js';
import { stablelm } from './stablelm.js';
import { mt5, t5, umt5 } from './t5.js';
import { xlnet } from './xlnet.js';

export const families = {
  ...common,
  bert: bertOrJina,
  bloom,
  camembert,
  cohere,
  cohere2,
  'deberta-v2': debertaV2,
  gpt2,
  gpt_neox: gptNeox,
  gptj,
  granite,
  llama4,
  marian,
  mixtral,
  modernbert: modernBert,
  mpt,
  nomic_bert: nomicBert,
  olmo2,
  olmo3,
  opt,
  phi,
  qwen3_moe: qwen3Moe,
  roberta,
  roformer,
  ropewalk,
  stablelm,
  mt5,
  t5,
  umt5,
  'xlm-roberta': xlmRoberta,
  xlnet,
};
