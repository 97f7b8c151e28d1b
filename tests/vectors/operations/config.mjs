// What ropeFromConfig makes of a config.json: whether a layer rotates, which pairs, how many, and with which frequencies.
import { ropeFromConfig } from 'ropewalk';
import { given, operation } from './operation.mjs';
import { withPlan } from './rope.mjs';

const scalar = (value) => ({ shape: [], data: [value] });

export const config = {
  rope_config: operation({ params: ['config', 'layer_type', 'sequence_length'] }, (rw, params) => {
    const options = given({ layerType: params.layer_type, sequenceLength: params.sequence_length });
    const rope = ropeFromConfig(params.config, options);
    if (rope === null) return { has_rope: scalar(0) };
    return withPlan(rw.rope(rope), (plan) => ({
      has_rope: scalar(1),
      interleaved: scalar(Number(plan.pairing === 'interleaved')),
      rotary_dim: scalar(plan.rotaryDim),
      base: scalar(plan.base),
      attention_factor: scalar(plan.attentionFactor),
      inv_freq: { shape: [plan.inverseFrequencies.length], data: plan.inverseFrequencies },
    }));
  }),
};
