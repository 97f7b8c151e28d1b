// What a text costs a model as it is, and with other positions.
// @ts-nocheck
/** @import { DecoderModel } from 'ropewalk/models' */

/**
 * Of each token after the first, by what is changed; own: nothing.
 * @typedef {Record<'own' | 'shuffled' | 'none' | 'pairing' | 'base' | 'linear' | 'ntk' | 'yarn', number[]>} Losses
 */

/**
 * Natural logarithm of how unlikely each token is after those before it.
 * @type {(model: DecoderModel, ids: readonly number[], positions?: readonly number[]) => Promise<number[]>}
 */
export const lossesOf = async (model, ids, positions) => {
  const { logits } = await model.forwardAsync(ids, { logits: 'all', ...(positions && { positions }) });
  const V = model.config.vocabSize;
  return ids.slice(1).map((id, t) => {
    const row = logits.data.subarray(t * V, (t + 1) * V);
    const max = Math.max(...row);
    return Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - max), 0)) + max - row[id];
  });
};

/** @type {(count: number, seed: number) => number[]} */
export const shuffledPositions = (count, seed) => {
  const positions = Array.from({ length: count }, (_, i) => i);
  let state = seed;
  for (let i = count - 1; i > 0; --i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [positions[i], positions[j]] = [positions[j], positions[i]];
  }
  return positions;
};

/** @type {(own: DecoderModel, ids: readonly number[], seed: number) => Promise<Losses>} */
export const lossesByChange = async (own, ids, seed) => {
  const scaled = (type, more) => ({ scaling: { type, factor: 4, ...more } });
  const ropes = {
    none: () => null,
    pairing: { pairing: 'interleaved' },
    base: { base: 100 },
    linear: scaled('linear'),
    ntk: scaled('ntk'),
    yarn: scaled('yarn', { originalLength: 128 }),
  };
  const all = {
    own: await lossesOf(own, ids),
    shuffled: await lossesOf(own, ids, shuffledPositions(ids.length, seed)),
  };
  for (const [name, rope] of Object.entries(ropes)) {
    const model = own.withRope(rope);
    all[name] = await lossesOf(model, ids);
    model.dispose();
  }
  return all;
};
