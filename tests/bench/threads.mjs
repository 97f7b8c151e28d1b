// node tests/bench/threads.mjs [--filter REGEX] [--threads N] [--rounds N] [--runs N] [--browser] [--markdown FILE]
// Times works with one thread and with several, of ropewalk and of onnxruntime-web, in alternation in one process, and
// prints how many times as long one thread takes as several of either, and onnxruntime-web's as ropewalk's: medians over
// the runs. With two threads it also says what more would give by Amdahl's law. --browser measures in a page of Chromium in
// place of Node; --markdown writes the table of that engine, and keeps the other's. Nothing is asserted: the other threads
// need processors that nobody else uses.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { enableRelaxed } from '../vectors/builds.mjs';
import { machine, machineLine } from './machine.mjs';
import { table } from './markdown.mjs';
import { summary } from './measure.mjs';
import { columns, milliseconds } from './report.mjs';
import { measureThreads, threadContenders } from './threads-measure.mjs';
import { works } from './works/index.mjs';

const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '.' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '9' },
    runs: { type: 'string', default: '1' },
    browser: { type: 'boolean', default: false },
    markdown: { type: 'string' },
  },
});
const [threads, rounds, runs] = [options.threads, options.rounds, options.runs].map(Number);
const asked = { filter: options.filter, threads, rounds, runs };

async function inNode() {
  enableRelaxed();
  return { runtime: `Node ${process.version}`, results: await measureThreads(asked, { node: true }) };
}
const inChromium = async () => (await import('./browser.mjs')).runThreadsInBrowser(asked);
const { runtime, results } = await (options.browser ? inChromium() : inNode());

// Of the time of one thread, what several share: two threads take 1 - p + p / 2 of it. Then n take 1 - p + p / n.
const more = threads === 2 ? [4, 8, 16] : [];
const onPaper = (gain, n) => {
  const shared = Math.max(0, Math.min(1, 2 - 2 / gain));
  return 1 / (1 - shared + shared / n);
};
const chosen = threadContenders(threads);
const head = [
  '',
  ...chosen.map(({ title }) => title),
  `of ropewalk, 1 : ${threads}`,
  `${threads} threads, onnxruntime : ropewalk`,
  ...more.map((n) => `on paper, 1 : ${n}`),
];
const median = (values) => summary(values).median;
const rows = works.flatMap(({ id, title }) => {
  const runsOf = results[id];
  if (!runsOf?.some((times) => times.some(Number.isFinite))) return [];
  // Of two that ran in the same run, so that a machine that changes its speed does not count.
  const ratio = (a, b) => median(runsOf.map((times) => times[a] / times[b]));
  const shown = (value, format) => (Number.isFinite(value) ? format(value) : '');
  const twoDigits = (value) => value.toFixed(2);
  const gain = ratio(0, 1);
  const row = [
    title,
    ...chosen.map((_, i) => shown(median(runsOf.map((times) => times[i])), milliseconds)),
    shown(gain, twoDigits),
    shown(ratio(3, 1), twoDigits),
    ...more.map((n) => shown(onPaper(gain, n), (value) => value.toFixed(1))),
  ];
  return [row];
});
const made = machineLine({ ...machine(), runtime });
console.log(made);
console.log(columns([head, ...rows]));
if (options.markdown) {
  const intro = `# Benchmarks with threads

One thread and ${threads}, of ropewalk and of onnxruntime-web, in alternation in one process: medians of ${runs} runs of
${rounds} rounds. Each begins while all threads sleep, and is timed for 30 ms at least. Written by
\`npm run bench:threads -- --runs ${runs} --rounds ${rounds} --markdown ${options.markdown}\`, and with \`--browser\`.

What 4, 8 and 16 threads would give is on paper, by Amdahl's law from the share of the work that two threads split. It is an
upper bound: what reads more than the caches hold, such as the rotation of [1, 32, 2048, 128] or one row times a large matrix,
ends earlier, at the bandwidth of the memory. Short calls stay on the calling thread. More in \`docs/benchmarks-limits.md\`.
`;
  const [here, other] = options.browser ? ['Chromium', 'Node'] : ['Node', 'Chromium'];
  const before = existsSync(options.markdown) ? readFileSync(options.markdown, 'utf8').split(/^(?=## )/m) : [];
  const sections = [
    `## ${here}\n\n${made}\n\n${table([head, ...rows])}\n`,
    ...before.filter((section) => section.startsWith(`## ${other}\n`)).map((section) => `${section.trimEnd()}\n`),
  ];
  if (options.browser) sections.reverse();
  writeFileSync(options.markdown, [intro, ...sections].join('\n'));
}
process.exit(0); // onnxruntime leaves workers behind
