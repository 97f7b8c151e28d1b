// The likeliest tokens of some logits, with their probabilities, and those of the same tokens by other logits.
//
// Plain JavaScript, because the page shows the function's text as part of the code that makes its picture, and what is
// shown has to be what ran. Its type is in its comment; inside, the tests that run the shown program check it.
// @ts-nocheck

/** @type {(logits: Float32Array, others: Float32Array, count: number) => { id: number, probability: number, own: number }[]} */
export const topTokens = (logits, others, count) => {
  const softmax = (row) => {
    const max = row.reduce((a, b) => Math.max(a, b), -Infinity);
    const weights = Float64Array.from(row, (logit) => Math.exp(logit - max));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  };
  const [now, own] = [softmax(logits), softmax(others)];
  const order = Array.from(now, (_, id) => id).sort((a, b) => now[b] - now[a] || a - b);
  return order.slice(0, count).map((id) => ({ id, probability: now[id], own: own[id] }));
};
