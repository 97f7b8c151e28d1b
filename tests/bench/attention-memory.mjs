// Prints the peak memory of attention with head size 64: node tests/bench/attention-memory.mjs. The call without a
// window for 16384 tokens takes a while.
import { load } from 'ropewalk';
import { extraBytes } from '../ts/support/peak.mjs';

const rw = await load();
console.log('tokens  heads  peak bytes  beside inputs and result  of Tq * Tk * 4');
for (const heads of [1, 8]) {
  for (const tokens of [1024, 4096, 16384]) {
    const extra = extraBytes(rw, tokens, heads, 64);
    const peak = extra + 4 * 4 * heads * tokens * 64;
    const share = ((100 * extra) / (4 * heads * tokens * tokens)).toFixed(2);
    console.log(
      [tokens, heads, peak, extra, `${share} %`]
        .map((cell, i) => String(cell).padStart([6, 7, 12, 26, 16][i]))
        .join(''),
    );
  }
}
