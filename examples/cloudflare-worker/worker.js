// GET /?q=1,2,3,4&k=4,3,2,1&distance=5 answers the score of a query and a key under RoPE, and how it changes with distance.
// Workers compile nothing at run time: the wasm is imported as a module.
import { load } from 'ropewalk';
import module from 'ropewalk/core.wasm';

let loading;

const vectorOf = (text) => Float32Array.from((text ?? '').split(','), Number);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

export default {
  async fetch(request) {
    // Once for all requests of this instance; after a failure the next one tries again.
    loading ??= load({ module }).catch((error) => {
      loading = undefined;
      throw error;
    });
    const rw = await loading;
    const { searchParams } = new URL(request.url);
    try {
      const [q, k] = [vectorOf(searchParams.get('q')), vectorOf(searchParams.get('k'))];
      const plan = rw.rope({ headDim: q.length });
      try {
        const distance = Number(searchParams.get('distance') ?? 0);
        const turned = plan.rotate(q, { positions: [distance] });
        return Response.json({ together: dot(q, k), apart: dot(turned, plan.rotate(k, { positions: [0] })) });
      } finally {
        plan.dispose();
      }
    } catch (error) {
      return Response.json({ error: error.message }, { status: 400 }); // names the argument and what would be right
    }
  },
};
