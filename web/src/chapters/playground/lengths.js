// The loss of a text by how many tokens are seen, with no scaling of the rotary encoding and with others.
// @ts-nocheck
import { lengthCurve } from 'ropewalk/models';
/** @import { DecoderModel, LengthCurve, LengthCurveOptions } from 'ropewalk/models' */

/**
 * @type {(model: DecoderModel, ids: readonly number[], factor: number, trained: number, options: LengthCurveOptions) =>
 *   Promise<LengthCurve[]>}
 */
export const lossesByLength = (model, ids, factor, trained, options) =>
  lengthCurve(
    model,
    ids,
    {
      none: { type: 'default' },
      linear: { type: 'linear', factor },
      ntk: { type: 'ntk', factor },
      yarn: { type: 'yarn', factor, originalLength: trained },
    },
    options,
  );
