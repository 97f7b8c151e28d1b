// Every tensor of every tiny model: a file without it, with it in another shape, or with one more, is refused by its name.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { inUse } from '../ts/support/peak.mjs';
import { safetensorsOf } from './tiny/files.mjs';
import { tinyModel, variants } from './tiny/models.mjs';

const rw = await load({ simd: 'deterministic' });

// Heads and poolers, which a file may lack, what no model reads, and the layers behind the first.
const spared =
  /^(cls|head|decoder|lm_head|(lm|mask)_predictions|embed_out)\.|pooler|masked_bias|(attention|attn)\.bias$|inv_freq|position_ids|embed_positions|vision|modal|mask_emb/;
const isNeeded = (name) => !spared.test(name) && !/(layers?|h|blocks)\.[1-9]/.test(name);

// Without the tensor that tells the spelling of the others, the usual one counts.
const plain = (name) =>
  name
    .replace(/^language_model\./, '')
    .replace(/^(model|bert|deberta|transformer)\./, '')
    .replace('gamma', 'weight')
    .replace('beta', 'bias');

async function assertRefused({ config }, tensors, tensor, message) {
  const before = inUse(rw);
  const weights = safetensorsOf({ config, tensors });
  await assert.rejects(loadModel(rw, { config, weights }), (error) => {
    assert.equal(error.name, 'SafetensorsError', error.stack);
    assert.equal(plain(error.tensor), plain(tensor));
    assert.ok(message.test(error.message), error.message);
    return true;
  });
  assert.deepEqual(inUse(rw), before);
}

describe('refused by name is a tensor that is missing, misshapen or unknown, of', () => {
  for (const name of variants) {
    test(name, async () => {
      const model = tinyModel(name);
      const needed = Object.keys(model.tensors).filter(isNeeded);
      assert.ok(needed.length > 5);
      for (const tensor of needed) {
        const { [tensor]: own, ...others } = model.tensors;
        await assertRefused(model, others, tensor, /is missing; expected float numbers \[/);
        const shape = [...own.shape, 1];
        await assertRefused(
          model,
          { ...others, [tensor]: { ...own, shape } },
          tensor,
          /has shape \[.*\]; its config makes it/,
        );
        const more = tensor.replace(/\.[a-z_]+$/, '.more');
        await assertRefused(model, { ...model.tensors, [more]: own }, more, /has no place in a model of this config/);
      }
    });
  }
});

test('all that is wrong with a file is listed, each tensor by its name', async () => {
  const { config, tensors } = tinyModel('llama3');
  const { 'model.norm.weight': norm, 'model.layers.1.mlp.up_proj.weight': up, ...others } = tensors;
  const given = {
    ...others,
    'model.layers.0.input_layernorm.weight': { ...norm, shape: [...norm.shape, 1] },
    'model.layers.1.mlp.up.weight': up,
    'model.more.weight': norm,
  };
  await assert.rejects(loadModel(rw, { config, weights: safetensorsOf({ config, tensors: given }) }), ({ message }) => {
    const lines = message
      .split('\n')
      .map((line) => /"(.*?)": (is missing|has shape|\[[\d, ]+\] has no place)/.exec(line));
    assert.deepEqual(
      lines
        .map((line) =>
          line
            ?.slice(1, 3)
            .join(' ')
            .replace(/ \[.*\]/, ''),
        )
        .sort(),
      [
        'model.layers.0.input_layernorm.weight has shape',
        'model.layers.1.mlp.up.weight has no place',
        'model.layers.1.mlp.up_proj.weight is missing',
        'model.more.weight has no place',
        'model.norm.weight is missing',
      ],
    );
    return true;
  });
});

test('token types of a model that has none are refused', async () => {
  const model = tinyModel('modernbert');
  const loaded = await loadModel(rw, { config: model.config, weights: safetensorsOf(model) });
  assert.throws(() => loaded.forward([1, 2], { tokenTypes: [0, 0] }), {
    name: 'ArgumentRangeError',
    message: /tokenTypes\[0\] is 0; the table of token types has 0 entries/,
  });
  loaded.dispose();
});
