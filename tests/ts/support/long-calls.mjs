// Calls that are long enough to be split over threads, one for each kind of loop. Runs in Node and, as text, in pages.

/** Makes the calls and gives a hash of each result's bits, by name. */
export function longCalls(rw) {
  // Numbers from -1 to 1, the same for the same seed.
  const random = (length, seed) => {
    let state = seed;
    return Float32Array.from({ length }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state >>> 8) / 2 ** 23 - 1;
    });
  };
  const array = (seed, ...shape) => ({
    data: random(
      shape.reduce((a, b) => a * b, 1),
      seed,
    ),
    shape,
  });
  const [heads, tokens, dim] = [6, 180, 64];
  const [q, k, v] = [1, 2, 3].map((seed) => array(seed, heads, tokens, dim));
  const plan = rw.rope({ headDim: dim });
  const rope = { encoding: 'rope', plan };
  const x = array(4, 130, 256);
  const results = {
    'attention, causal, rope': rw.attention(q, k, v, { causal: true, position: rope }).out,
    'attention, window, softcap, alibi': rw.attention(q, k, v, {
      window: { left: 40, right: 20 },
      softcap: 20,
      position: { encoding: 'alibi' },
    }).out,
    probabilities: rw.attention(q, k, v, { returnScores: 'probabilities' }).scores,
    'linear attention': rw.linearAttention(q, k, v).out,
    'linear attention, causal, rope': rw.linearAttention(q, k, v, { causal: true, position: rope }).out,
    rotate: plan.rotate(array(5, 64, tokens, dim)),
    softmax: rw.softmax(array(6, 500, 300)),
    gelu: rw.gelu(array(7, 500, 300)),
    silu: rw.silu(array(8, 500, 300)),
    'layer norm': rw.layerNorm(array(9, 500, 300)),
    'root mean square norm': rw.rmsNorm(array(10, 500, 300)),
    embed: rw.embed(
      array(11, 50, 300),
      Array.from({ length: 900 }, (_, i) => (i * 7) % 50),
    ),
    sinusoidal: { data: rw.sinusoidal({ dim: 256, positions: { length: 900 } }) },
  };
  const weight = array(12, 700, 256);
  const blocks = ['q8_0', 'q4_0', 'q4_k', 'q6_k'];
  const kept = ['float32', 'float16', 'bfloat16', 'int8', ...blocks].map((storage) => ({ storage }));
  for (const options of [...kept, ...blocks.map((storage) => ({ storage, arithmetic: 'float32' }))]) {
    const linear = rw.linear({ weight, ...options });
    for (const rows of [1, 2, 130]) {
      const rowsOfX = { data: x.data.subarray(0, rows * 256), shape: [rows, 256] };
      results[`linear, ${Object.values(options).join(', ')}, ${rows} rows`] = linear.apply(rowsOfX);
    }
    linear.dispose();
  }
  const sizes = { modelDim: 256, heads: 4, hiddenDim: 700 };
  const { data: numbers } = array(13, 700 * 256);
  const part = (length) => numbers.subarray(0, length);
  const [square, wide, norm] = [part(256 * 256), part(700 * 256), part(256)];
  const weights = { query: square, output: square, up: wide, down: wide, attentionNorm: norm, feedForwardNorm: norm };
  const encoder = rw.encoderLayer({ ...sizes, weights: { ...weights, key: square, value: square } });
  results['encoder layer'] = encoder.forward(x).out;
  const halves = { key: part(256 * 128), value: part(256 * 128) };
  const decoder = rw.decoderLayer({
    ...sizes,
    kvHeads: 2,
    position: rope,
    weights: { ...weights, ...halves, gate: wide },
  });
  results['decoder layer'] = decoder.forward(x).out;

  const hashes = {};
  for (const [name, { data }] of Object.entries(results)) {
    // FNV-1a over words: a page without https has no crypto.subtle.
    let hash = 0x811c9dc5;
    for (const word of new Uint32Array(data.buffer, data.byteOffset, data.length)) {
      hash = Math.imul(hash ^ word, 0x01000193) >>> 0;
    }
    hashes[name] = hash;
  }
  return hashes;
}
