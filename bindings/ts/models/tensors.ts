// Finds the tensors of a checkpoint under the names of its family, and refuses missing and unknown ones.

import type { WeightFile } from '../sources/tensor-file.js';
import type { ModelConfig } from './config.js';
import type { Checkpoint, Family } from './description/family.js';

// Names of tensors that are not needed: recomputed tables, masks, heads of other tasks.
const buffers =
  '(rotary_emb\\.inv_freq|attention\\.(bias|masked_bias)|embeddings\\.position_ids|embed_positions\\.weight)$';
const otherHeads = '^(classifier|score|qa_outputs|cls\\.seq_relationship|cls)\\.';
const poolers = '(^|\\.)pooler\\.';
const images = '(^|\\.)(vision_tower|multi_modal_projector|vision_model)\\.';

/** @internal */
export function checkpointOf(family: Family, config: ModelConfig, file: WeightFile): Checkpoint {
  const checkpoint = family.tensors(config, file);
  const spare = (checkpoint.spare ?? []).map((name) => `|(^|\\.)${name.replaceAll('.', '\\.')}$`).join('');
  checkpoint.names.check(new RegExp(`${buffers}|${otherHeads}|${poolers}|${images}${spare}`));
  return checkpoint;
}
