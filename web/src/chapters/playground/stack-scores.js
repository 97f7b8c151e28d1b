// Words through a stack of layers with random weights; the scores of the last one, by their parts.
//
// Plain JavaScript, because the page shows the function's text as part of the code that makes its picture, and what is
// shown has to be what ran. Its type is in its comment; inside, the tests that run the shown program check it.
// @ts-nocheck
import { rememberedVector as wordVector } from './remembered-vector';

/** @type {import('./stack').StackScores} */
export const stackScores = (rw, words, options) => {
  const { encoding, heads, kvHeads, layers, causal, window, sinkTokens, seed, rope } = options;
  const [T, M, N] = [words.length, 64, 64];
  const D = M / heads;
  const matrix = (name, rows, columns, scale = 1 / Math.sqrt(columns)) => ({
    data: new Float32Array(wordVector(`${seed} ${name}`, rows * columns).map((x) => scale * x)),
    shape: [rows, columns],
  });
  const distances = (name, reach) => matrix(name, 2 * reach + 1, D, 0.5);
  const positions = {
    none: () => ({ encoding: 'none' }),
    sinusoidal: () => ({ encoding: 'none' }), // added to the words instead
    half: () => ({ encoding: 'rope', pairing: 'half', ...rope }),
    interleaved: () => ({ encoding: 'rope', pairing: 'interleaved', ...rope }),
    alibi: () => ({ encoding: 'alibi' }),
    t5: () => ({ encoding: 't5', table: matrix('t5', 32, heads, 1) }),
    kerple: () => ({
      encoding: 'kerple',
      r1: new Float32Array(heads).fill(1),
      r2: Float32Array.from({ length: heads }, (_, h) => 2 ** -h),
    }),
    shaw: () => ({ encoding: 'shaw', keys: distances('shaw', 4) }),
    relativeKey: () => ({ encoding: 'relative_key', table: distances('bert', T - 1) }),
    relativeKeyQuery: () => ({ encoding: 'relative_key_query', table: distances('bert', T - 1) }),
    m3: () => ({ encoding: 'm3', table: distances('m3', T - 1) }),
  };
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, M)));
  if (encoding === 'sinusoidal') {
    const waves = rw.sinusoidal({ dim: M, positions: { length: T } });
    for (const [i, wave] of waves.entries()) data[i] += wave;
  }
  const ones = new Float32Array(M).fill(1);
  let x = { data, shape: [T, M] };
  for (let i = 1; ; ++i) {
    const layer = rw.decoderLayer({
      ...{ modelDim: M, heads, kvHeads, hiddenDim: N, causal, position: positions[encoding]() },
      ...(window > 0 && { window: { left: window - 1, right: window - 1 }, sinkTokens }),
      weights: {
        query: matrix(`${i} query`, M, M),
        key: matrix(`${i} key`, kvHeads * D, M),
        value: matrix(`${i} value`, kvHeads * D, M),
        output: matrix(`${i} output`, M, M),
        up: matrix(`${i} up`, N, M),
        down: matrix(`${i} down`, M, N),
        attentionNorm: ones,
        feedForwardNorm: ones,
      },
    });
    const { out, captured } = layer.forward(x, { capture: ['content', 'position', 'biased', 'probabilities'] });
    layer.dispose();
    if (i === layers) return captured;
    x = out;
  }
};
