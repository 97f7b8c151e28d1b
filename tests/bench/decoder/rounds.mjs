// Measures all contenders and the machine's limits in alternating rounds, and formats the table. Runs in Node and in a
// page.
import { contenders } from '../contenders/kernels.mjs';
import { summary } from '../measure.mjs';
import { openOnnxruntime } from './onnxruntime.mjs';
import { arithmeticOf, decodedTokens, openOurs, promptTokens, seconds } from './work.mjs';

const mebi = 2 ** 20;
const peakCalls = 100;
const registerFlops = peakCalls * 8 * 12 * Math.floor(mebi / 12); // of the work `peak`
const readBytes = 256 * mebi;

// An instance for each: it holds one work.
async function openLimit(kernels, build, operation, sizes) {
  const id = build === 'relaxed' ? 'kernels-relaxed' : 'kernels-simd';
  const contender = await contenders.find((each) => each.id === id).open({ kernels });
  const prepared = contender?.operations[operation](sizes);
  return prepared && (async () => prepared.op());
}

async function openLimits(kernels, build) {
  const peak = await openLimit(kernels, build, 'peak', {});
  return {
    peak: peak && (() => repeated(peak, peakCalls)),
    read: await openLimit(kernels, build, 'read', { bytes: readBytes }),
  };
}

async function repeated(work, times) {
  for (let i = 0; i < times; ++i) await work();
}

// How far the two programs are apart, as a share of the largest logit.
async function difference(model, peer) {
  const ids = [1, 5, 9, 40000, 7];
  const [ours, theirs] = [model.logits(ids), await peer.logits(ids)];
  const largest = ours.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  return ours.reduce((a, b, i) => Math.max(a, Math.abs(b - theirs[i])), 0) / largest;
}

/** Gives { builds: { simd128, relaxed? }, peer? }, each with medians in seconds. */
export async function runRounds(given) {
  const { load, loadModel, openSafetensors, config, weights, kernels, rounds } = given;
  const opened = {};
  for (const simd of ['deterministic', 'auto']) {
    const model = await openOurs({ load, loadModel, simd, config, weights });
    if (opened[model.simd] === undefined) opened[model.simd] = { model, limits: await openLimits(kernels, model.simd) };
    else model.close();
  }
  let peer;
  if (given.peer) {
    const file = await openSafetensors(await load(), weights);
    peer = await openOnnxruntime({ file, config, paths: given.paths }).catch((error) => ({ problem: error.message }));
    file.dispose();
  }
  if (peer && !peer.problem) peer.difference = await difference(Object.values(opened)[0].model, peer);
  const lanes = Object.entries(opened).flatMap(([name, { model, limits }]) => [
    { name, part: 'prefill', work: model.prefill },
    { name, part: 'decode', work: model.decode },
    ...(limits.peak ? [{ name, part: 'peak', work: limits.peak }] : []),
    ...(limits.read ? [{ name, part: 'read', work: limits.read }] : []),
  ]);
  if (peer && !peer.problem)
    for (const part of ['prefill', 'decode']) lanes.push({ name: 'peer', part, work: peer[part] });
  for (const lane of lanes) lane.times = [];
  for (let round = -1; round < rounds; ++round) {
    for (const { work, times } of lanes) {
      const taken = await seconds(work);
      if (round >= 0) times.push(taken); // the one before is for the compiler
    }
  }
  const timesOf = (wanted) =>
    Object.fromEntries(lanes.filter(({ name }) => name === wanted).map(({ part, times }) => [part, summary(times)]));
  const builds = Object.entries(opened).map(([name, { model }]) => {
    const { loadSeconds, weights: bytes, loadPeak } = model;
    const { peak, heapBytes } = model.memory();
    const memory = { loadPeak, memoryPeak: peak, heapBytes, cache: model.cacheBytes() };
    return [name, { ...timesOf(name), loadSeconds, weights: bytes, ...memory }];
  });
  return {
    builds: Object.fromEntries(builds),
    ...(peer && { peer: { ...told(peer), ...timesOf('peer') } }),
  };
}

const told = ({ title, problem, loadSeconds, difference: apart }) => ({
  title,
  problem,
  loadSeconds,
  difference: apart,
});

const ratio = (n) => (Number.isFinite(n) ? n.toFixed(2) : '-');
const rate = (tokens, time) => (time ? (tokens / time.median).toFixed(1) : '-');

/** Rows for `columns` of report.mjs. */
export function rowsOf(config, { builds, peer }) {
  const flops = arithmeticOf(config);
  const head = ['SmolLM2-135M, random bf16', 'load s', 'peak/weights', 'peak/(weights + cache)', 'prefill 512 t/s'];
  head.push('limit', 'share', 'decode t/s', 'limit', 'share');
  const rows = Object.entries(builds).map(([name, b]) => {
    const limit = b.peak && (promptTokens * (registerFlops / b.peak.median)) / flops.prefill;
    const reading = b.read && readBytes / b.read.median / (b.weights + b.cache);
    const arithmetic = b.peak && registerFlops / b.peak.median / flops.decode;
    const least = reading && Math.min(reading, arithmetic);
    return [
      `ropewalk ${name}`,
      b.loadSeconds.toFixed(2),
      ...[ratio(b.loadPeak / b.weights), ratio(b.memoryPeak / (b.weights + b.cache))],
      ...[rate(promptTokens, b.prefill), ratio(limit), ratio(promptTokens / b.prefill.median / limit)],
      ...[rate(decodedTokens, b.decode), ratio(least), ratio(decodedTokens / b.decode.median / least)],
    ];
  });
  if (peer?.problem) rows.push([`onnxruntime-web: ${peer.problem.slice(0, 80)}`, ...Array(9).fill('-')]);
  else if (peer) {
    const [prefill, decode] = [rate(promptTokens, peer.prefill), rate(decodedTokens, peer.decode)];
    rows.push([
      `${peer.title}, logits ${peer.difference.toExponential(1)} apart`,
      peer.loadSeconds.toFixed(2),
      '-',
      '-',
      prefill,
      '-',
      '-',
      decode,
      '-',
      '-',
    ]);
  }
  return [head, ...rows];
}
