// Training gives the same bits on every engine: 50 steps with every encoding and attention in Node, and in browsers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serveFolder } from '../../ts/support/server.mjs';
import { browsers, launchBoth } from '../site.mjs';

const dist = fileURLToPath(new URL('../../../dist', import.meta.url));
const [site, both] = await Promise.all([serveFolder(dist), launchBoth()]);
after(async () => {
  await both.close();
  await site.close();
});

// Runs in Node and in a page: a hash of the state after 50 steps, by model.
async function trained(entry) {
  const { load, skipLanguageTask } = await import(entry);
  const rw = await load();
  const positions = {
    rope: { encoding: 'rope', scaling: { type: 'yarn', factor: 2, originalLength: 16 } },
    pope: { encoding: 'pope' },
    kerple: { encoding: 'kerple' },
    forget: { encoding: 'forget' },
    fire: { encoding: 'fire' },
    sandwich: { encoding: 'sandwich' },
    transformerXl: { encoding: 'transformer_xl' },
    deberta: { encoding: 'deberta', maxDistance: 24 },
    cope: { encoding: 'cope' },
    ropeMixed: { encoding: 'rope_mixed', columns: 8 },
    axial: { encoding: 'axial', columns: 8 },
    sinusoidal: { encoding: 'sinusoidal' },
    binary: { encoding: 'binary' },
    learned: { encoding: 'learned', mode: 'multiply' },
    alibi: { encoding: 'alibi', trainable: true },
    t5: { encoding: 't5' },
    shaw: { encoding: 'shaw' },
    relativeKey: { encoding: 'relative_key' },
    relativeKeyQuery: { encoding: 'relative_key_query' },
    m3: { encoding: 'm3' },
  };
  const { rope } = positions;
  const models = {
    ...Object.fromEntries(Object.entries(positions).map(([name, position]) => [name, { position }])),
    elu1: { position: rope, attention: { linear: 'elu1' } },
    relu: { attention: { linear: 'relu' } },
    exp: { position: rope, attention: { linear: 'exp', ropeForm: 'both' } },
    cosine: { position: rope, attention: { linear: 'cosine' } },
    bidirectional: { causal: false, norm: 'layer', activation: 'silu' },
    sgd: { optimizer: { type: 'sgd', warmup: 10, totalSteps: 50 } },
  };
  const hashes = {};
  for (const [name, options] of Object.entries(models)) {
    const task = skipLanguageTask({ tokens: 32, seed: 3 });
    const { vocab, tokens: context } = task;
    const optimizer = { warmup: 10, totalSteps: 50 };
    const sizes = { layers: 2, modelDim: 32, heads: 2, hiddenDim: 64, vocab, context };
    const trainer = rw.trainer({ ...sizes, optimizer, ...options });
    for (let s = 0; s < 50; ++s) trainer.step(task.batch(8));
    // FNV-1a: a page without https has no crypto.subtle.
    let hash = 0x811c9dc5;
    for (const byte of trainer.save()) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    hashes[name] = hash;
    trainer.dispose();
  }
  return hashes;
}

const inNode = await trained('ropewalk/training');

for (const name of browsers) {
  test(`50 steps in ${name} give the bits of Node`, async () => {
    assert.equal(new Set(Object.values(inNode)).size, 26);
    const page = await both.newPage(name);
    await page.goto(`${site.address}worker.js`); // any file: the page is where the code comes from
    assert.deepEqual(await page.evaluate(`(${trained})('/training.js')`), inNode);
  });
}
