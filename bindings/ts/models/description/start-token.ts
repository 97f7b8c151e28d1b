// The first token of what a decoder behind an encoder writes.

import type { Fields } from '../../checkpoints/fields.js';
import * as check from '../../runtime/check.js';

/** The first token of a target: its own field, or the padding, or that of its class. @internal */
export function readStartToken(fields: Fields, vocabSize: number, usual = 0): number {
  const token = (where: string, name: string, value: unknown) => check.integer(where, name, value, 0, vocabSize - 1);
  const stated = fields.optional('decoder_start_token_id', token) ?? fields.optional('pad_token_id', token);
  return stated ?? (usual < vocabSize ? usual : fields.need('decoder_start_token_id', token));
}
