// node tests/bench/threads.mjs [--filter REGEX] [--threads N] [--rounds N] [--runs N] [--markdown FILE]
// Times works with one thread and with several, of ropewalk and of onnxruntime-web, in alternation in one process, and
// prints how many times as long one thread takes as several of either, and onnxruntime-web's as ropewalk's: medians over
// the runs. With two threads it also says what more would give by Amdahl's law. Nothing is asserted: the other threads need
// processors that nobody else uses.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { enableRelaxed } from '../vectors/builds.mjs';
import * as onnxruntime from './contenders/onnxruntime.mjs';
import * as ropewalk from './contenders/ropewalk.mjs';
import { machine, machineLine } from './machine.mjs';
import { table } from './markdown.mjs';
import { measure, summary } from './measure.mjs';
import { columns, milliseconds } from './report.mjs';
import { works } from './works/index.mjs';

const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '.' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '9' },
    runs: { type: 'string', default: '1' },
    markdown: { type: 'string' },
  },
});
const [threads, rounds, runs] = [options.threads, options.rounds, options.runs].map(Number);
const wanted = new RegExp(options.filter);

enableRelaxed();
const own = (contenders, id) => contenders.find((contender) => contender.id === id);
const chosen = [
  own(ropewalk.contenders, 'relaxed'),
  ropewalk.threaded(threads),
  own(onnxruntime.contenders, 'ort'),
  onnxruntime.threaded(threads),
];
const opened = [];
for (const contender of chosen) opened.push({ ...contender, ...(await contender.open({ node: true })) });

// Of the time of one thread, what several share: two threads take 1 - p + p / 2 of it. Then n take 1 - p + p / n.
const more = threads === 2 ? [4, 8, 16] : [];
const onPaper = (gain, n) => {
  const shared = Math.max(0, Math.min(1, 2 - 2 / gain));
  return 1 / (1 - shared + shared / n);
};
const head = [
  '',
  ...chosen.map(({ title }) => title),
  `of ropewalk, 1 : ${threads}`,
  `${threads} threads, onnxruntime : ropewalk`,
  ...more.map((n) => `on paper, 1 : ${n}`),
];
const median = (values) => summary(values).median;
const rows = [];
for (const work of works.filter(({ id }) => wanted.test(id))) {
  const results = [];
  for (let run = 0; run < runs; ++run)
    results.push(await measure(work, opened, { rounds, paths: ['op'], threads: true }));
  const timesOf = (result) => chosen.map(({ id }) => result[id].op?.median);
  // Of two that ran in the same run, so that a machine that changes its speed does not count.
  const ratio = (a, b) => median(results.map((result) => timesOf(result)[a] / timesOf(result)[b]));
  const shown = (value, format) => (Number.isFinite(value) ? format(value) : '');
  const twoDigits = (value) => value.toFixed(2);
  const gain = ratio(0, 1);
  rows.push([
    work.title,
    ...chosen.map((_, i) => shown(median(results.map((result) => timesOf(result)[i])), milliseconds)),
    shown(gain, twoDigits),
    shown(ratio(3, 1), twoDigits),
    ...more.map((n) => shown(onPaper(gain, n), (value) => value.toFixed(1))),
  ]);
}
const made = machineLine({ ...machine(), runtime: `Node ${process.version}` });
console.log(made);
console.log(columns([head, ...rows]));
if (options.markdown) {
  const text = `# Benchmarks with threads

One thread and ${threads}, of ropewalk and of onnxruntime-web, in alternation in one process: medians of ${runs} runs of
${rounds} rounds. Each begins while all threads sleep, and is timed for 30 ms at least. Written by
\`npm run bench:threads -- ${process.argv.slice(2).join(' ')}\`.

${made}

What 4, 8 and 16 threads would give is on paper, by Amdahl's law from the share of the work that two threads split. It is an
upper bound: what reads more than the caches hold, such as the rotation of [1, 32, 2048, 128] or one row times a large matrix,
ends earlier, at the bandwidth of the memory. Short calls stay on the calling thread.

${table([head, ...rows])}
`;
  writeFileSync(options.markdown, text);
}
process.exit(0); // onnxruntime leaves workers behind
