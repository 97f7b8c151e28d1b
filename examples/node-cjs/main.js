// node main.js
// Where modules are CommonJS: require from Node 20.19 and 22.12 on; before that, await import('ropewalk').
const { load } = require('ropewalk');

async function main() {
  const rw = await load();
  const tokens = new Float32Array(4 * 8).map((_, i) => Math.cos(i)); // [heads, tokens, headDim] = [1, 4, 8]
  const input = { data: tokens, shape: [1, 4, 8] };
  const { scores } = rw.attention(input, input, input, { causal: true, returnScores: 'probabilities' });
  const [, , queries, keys] = scores.shape;
  for (let q = 0; q < queries; ++q) {
    const row = [...scores.data.subarray(q * keys, (q + 1) * keys)];
    console.log(row.map((p) => p.toFixed(2)).join(' '));
  }
}

main();
