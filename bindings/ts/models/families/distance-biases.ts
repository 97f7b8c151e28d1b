// What all layers of a model add to scores by distance, in one table for each head: ALiBi, and T5's learned buckets.

import { alibiSlopes } from '../../encodings/alibi.js';
import { withBuckets, writeT5Bias } from '../../encodings/t5.js';
import type { DistanceBiases } from '../description/family.js';

/** -slope |distance|. @internal */
export const alibiBiases: DistanceBiases = (heap, _, { heads, alibiMax = 8 }, first, table) => {
  const slopes = alibiSlopes(heap, heads);
  const count = table.size / heads;
  const biases = new Float32Array(table.size);
  for (let i = 0; i < biases.length; ++i) {
    const slope = (slopes[Math.floor(i / count)] as number) ** (alibiMax / 8);
    biases[i] = -slope * Math.abs(first + (i % count));
  }
  table.set(biases);
};

/** A number for each bucket and head. @internal */
export const bucketBiases: DistanceBiases = (heap, where, { kind, heads, buckets }, first, out, learned) => {
  if (buckets === undefined || learned === undefined) return;
  withBuckets(heap, where, { bidirectional: kind !== 'decoder', ...buckets }, (core) =>
    heap.scope(where, (scratch) => {
      const table = scratch(learned.length * 4);
      heap.floats(table, learned.length).set(learned);
      const keys = out.size / heads;
      writeT5Bias(heap, core, { out: out.pointer, table, heads, queries: 1, keys, queryOffset: -first }, scratch);
    }),
  );
};
