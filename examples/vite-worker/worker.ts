// What the page may call. Objects stay here; results are moved to the page, not copied.
import { load } from 'ropewalk';
import { expose } from 'ropewalk/worker';

async function api() {
  const rw = await load();
  return {
    info: () => rw.info(),
    /** Attention of `heads` heads over random tokens: [heads, tokens, headDim]. */
    attend(heads: number, tokens: number, headDim: number): Float32Array {
      const data = Float32Array.from({ length: heads * tokens * headDim }, () => Math.random() - 0.5);
      const input = { data, shape: [heads, tokens, headDim] };
      const plan = rw.rope({ headDim, pairing: 'half' });
      try {
        const position = { encoding: 'rope', plan } as const;
        return rw.attention(input, input, input, { causal: true, position }).out.data;
      } finally {
        plan.dispose();
      }
    },
  };
}

export type Api = Awaited<ReturnType<typeof api>>;

expose(api);
