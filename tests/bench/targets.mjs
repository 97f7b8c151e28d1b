// The package's targets, as ratios within one run. `least` has a minimum for the relaxed and the simd128 build: the
// peer's time over ours, at the worst work. `limit` compares ours with the machine's limit. Missing rows are reported.
import { quantile } from './measure.mjs';

const builds = ['relaxed', 'simd'];

const rope = (pairing, size) => `rope ${pairing} ${size}`;
const both = (size) => [rope('half', size), rope('interleaved', size)];
const ropes = ['32x2048x128', '9x512x64', '32x1x128'].flatMap(both);
const core = (T, kind) => [`attention 8x64 ${T} ${kind}`];
const layer = (T, kind) => [`layer 512 ${T} ${kind}`];

const row = (title, works, least, limit, more) => ({ title, works, least, limit, peer: 'ort', path: 'op', ...more });

export const targets = [
  row('RoPE half [1,32,2048,128]', [rope('half', '32x2048x128')], [8, 7.5], { over: 'copy 64 MiB', most: 1.1 }),
  row('RoPE interleaved, same', [rope('interleaved', '32x2048x128')], [6.8, 6.5], { over: 'copy 64 MiB', most: 1.2 }),
  row('RoPE [1,9,512,64], both pairings', both('9x512x64'), [9.5, 8.8], { native: 'sse41', most: 1.15 }),
  row('RoPE decode [1,32,1,128], op', both('32x1x128'), [13, 12]),
  row('RoPE decode [1,32,1,128], io', both('32x1x128'), [12, 11], { milliseconds: 0.003 }, { path: 'io' }),
  row('every RoPE row', ropes, [3.5, 3.5], undefined, { peer: 'js' }),
  row('every RoPE row', ropes, [1.4, 1.3], undefined, { peer: 'ort-native' }),
  row('sinusoid table 8192 x 512', ['sinusoid 8192x512'], [9, 9], { error: 2.99e-8 }),
  row('matmul 512 and 1024', ['matmul 512', 'matmul 1024'], [1.4, 1.06], { peak: [0.93, 0.92] }),
  row('projection 128x512, 2048x512', ['projection 128x512->512', 'projection 2048x512->512'], [1.4, 1.06]),
  row('GEMV 1x512', ['projection 1x512->512'], [1.2, 1.2], { read: 'read 512x512', least: 0.8 }),
  row('GEMV 1x768 to 3072', ['projection 1x768->3072'], [1.2, 1.2], { read: 'read 768x3072', least: 0.8 }),
  row('8 bits, 1x2048 to 2048', ['q8_0 1x2048->2048'], [6, undefined]),
  row('8 bits, 128x2048 to 2048', ['q8_0 128x2048->2048'], [1.15, undefined]),
  row('4 bits, 1x2048 to 2048', ['q4_0 1x2048->2048'], [50, undefined]),
  row('4 bits, 128x2048 to 2048', ['q4_0 128x2048->2048'], [4, undefined]),
  row('softmax, both shapes', ['softmax 4096x512', 'softmax 1536x128'], [2.5, 2.2]),
  row('softmax, both shapes', ['softmax 4096x512', 'softmax 1536x128'], [1.25, undefined], undefined, { peer: 'tfjs' }),
  row('attention core, full, 128', core(128, 'full'), [1.4, 1.1]),
  row('attention core, full, 512', core(512, 'full'), [1.65, 1.25], { peak: [0.8, 0.8] }),
  row('attention core, full, 2048', core(2048, 'full'), [1.65, 1.25], { peak: [0.8, 0.8] }),
  row('attention core, causal, 128', core(128, 'causal'), [2, 1.6]),
  row('attention core, causal, 512', core(512, 'causal'), [2.8, 2.2]),
  row('attention core, causal, 2048', core(2048, 'causal'), [3.2, 2.5]),
  row('attention layer, full, 512', layer(512, 'full'), [1.55, 1.17]),
  row('attention layer, full, 2048', layer(2048, 'full'), [1.6, 1.2]),
  row('attention layer, causal, 512', layer(512, 'causal'), [1.9, 1.43]),
  row('attention layer, causal, 2048', layer(2048, 'causal'), [2.5, 1.9]),
  row('decode step, cache 1024, op', ['decode 512 1024'], [2.6, 2.4], { native: 'sse41', most: 1.15 }),
  row('decode step, cache 1024, io', ['decode 512 1024'], [7, 6.5], undefined, { path: 'io' }),
  row('RoFormer-base layer, T 128', ['encoder roformer 128'], [1.45, 1.1], { peak: [0.85, 0.85] }),
  row('BERT-base layer, T 128', ['encoder bert 128'], [1.45, 1.1], { peak: [0.85, 0.85] }),
  // At most 0.2 of its bytes, and 0.06 of its time.
  row('peak heap, attention layer T 2048', ['heap'], [5, 5], undefined, { path: 'bytes' }),
  row('import to first result, cold', ['startup'], [1 / 0.06, undefined]),
];

// Whose time, and of which work, a limit is.
const limitWorks = ({ over, read, peak }) => [over, read, peak && 'peak'].filter((id) => id !== undefined);

/** The contenders and paths ('op', 'io') of a work that targets compare; none if no target needs the work. */
export function compared(id) {
  const contenders = new Set();
  const paths = new Set();
  for (const { works, limit = {}, peer, path } of targets) {
    const isLimit = limitWorks(limit).includes(id);
    if (!isLimit && !works.includes(id)) continue;
    const named = isLimit ? builds.map((build) => `kernels-${build}`) : [...builds, peer, limit.native];
    for (const name of named) contenders.add(name);
    paths.add(isLimit ? 'op' : path);
    if (limit.native !== undefined) paths.add('op');
  }
  return { contenders, paths: [...paths] };
}

// The public call if there is one, else the kernel beneath it.
function ours(result, build, path) {
  if (result?.[build]?.[path]) return { median: result[build][path].median, error: result[build].error, kernel: false };
  const kernel = result?.[`kernels-${build}`]?.[path];
  return kernel && { median: kernel.median, kernel: true };
}

const reaches = (value, bound, atLeast) => (atLeast ? value >= bound : value <= bound);

// The worst of the values against a floor (at least) or a ceiling (at most); a missing value makes it unknown.
function judged(values, bound, atLeast, kernel = false) {
  if (bound === undefined) return undefined;
  const value = atLeast ? Math.min(...values) : Math.max(...values);
  if (Number.isNaN(value)) return { bound, atLeast };
  return { value, bound, atLeast, kernel, reached: reaches(value, bound, atLeast) };
}

// Time of `work` on the kernels of this build.
const limitTime = (results, build, work) => results[work]?.[`kernels-${build}`]?.op?.median;

function againstLimit({ limit, works, path }, results, sizes, build, index) {
  if (limit === undefined) return undefined;
  const each = (f) => works.map((id) => f(id, ours(results[id], build, path) ?? {}));
  if (limit.error !== undefined)
    return judged(
      each((_, { error }) => error),
      limit.error,
      false,
    );
  if (limit.milliseconds !== undefined)
    return judged(
      each((_, { median }) => median),
      limit.milliseconds,
      false,
    );
  if (limit.over !== undefined || limit.native !== undefined) {
    const base = (id) => (limit.over ? limitTime(results, build, limit.over) : results[id]?.[limit.native]?.op?.median);
    return judged(
      each((id, { median }) => median / base(id)),
      limit.most,
      false,
    );
  }
  // flops or bytes per ms, over those of the limit
  const [unit, of, least] = limit.peak ? ['flops', 'peak', limit.peak[index]] : ['bytes', limit.read, limit.least];
  const best = sizes[of]?.[unit] / limitTime(results, build, of);
  return judged(
    each((id, { median }) => sizes[id]?.[unit] / median / best),
    least,
    true,
  );
}

/** The result of each target. `sizes` are the works by id, for their flops and bytes. */
export function judge(results, sizes) {
  const measured = targets.filter(({ works }) => works.some((id) => results[id]));
  return measured.map((target) => {
    const { title, works, least, peer, path } = target;
    const cells = builds.map((build, index) => {
      const mine = works.map((id) => ours(results[id], build, path) ?? {});
      const ratios = works.map((id, i) => results[id]?.[peer]?.[path]?.median / mine[i].median);
      const kernel = mine.some((own) => own.kernel);
      return {
        build,
        peer: judged(ratios, least[index], true, kernel),
        limit: againstLimit(target, results, sizes, build, index),
      };
    });
    return { title, peer, path, cells };
  });
}

// The cell whose value is the median of the cells' values; a run in which it is missing does not count.
function middleCell(cells) {
  if (cells[0] === undefined) return undefined;
  const values = cells.flatMap(({ value }) => (value === undefined ? [] : [value])).sort((a, b) => a - b);
  if (values.length === 0) return cells[0];
  const value = quantile(values, 0.5);
  const { bound, atLeast, kernel } = cells[0];
  return { value, bound, atLeast, kernel, reached: reaches(value, bound, atLeast) };
}

/** Combines the results of judge() for several runs: the median of every value. */
export function middle(judgements) {
  return judgements[0].map(({ cells, ...target }, row) => ({
    ...target,
    cells: cells.map(({ build }, column) => {
      const same = judgements.map((judgement) => judgement[row].cells[column]);
      return {
        build,
        peer: middleCell(same.map(({ peer }) => peer)),
        limit: middleCell(same.map(({ limit }) => limit)),
      };
    }),
  }));
}
