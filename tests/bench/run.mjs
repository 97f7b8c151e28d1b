// npm run bench -- [--filter REGEX] [--contenders REGEX] [--rounds N] [--runs N] [--targets] [--browser]
// [--json FILE] [--markdown FILE], or --from FILE --from FILE --markdown FILE to format the JSON of earlier runs
// Times works (tests/bench/works) with every contender in one process, in alternation, and prints the results of the
// targets. --runs N repeats this N times and uses the median; growth is measured in the last run. The filter selects
// works by id, and startup, heap and growth. --targets times only what a target compares. --browser also runs in
// Chromium. Nothing is asserted: times from a busy machine mean little; only ratios within one run are comparable.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { heaps, startup } from './children.mjs';
import { openAll } from './contenders/index.mjs';
import { measureGrowth } from './growth.mjs';
import { machine, machineLine } from './machine.mjs';
import { growthTables, heapRows, startupRows, writeMarkdown } from './markdown.mjs';
import { measureAll } from './measure-all.mjs';
import { columns, targetRows, workRows } from './report.mjs';
import { judge, middle } from './targets.mjs';
import { works } from './works/index.mjs';

const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '.' },
    contenders: { type: 'string', default: '.' },
    rounds: { type: 'string', default: '9' },
    runs: { type: 'string', default: '1' },
    browser: { type: 'boolean', default: false },
    json: { type: 'string' },
    markdown: { type: 'string' },
    from: { type: 'string', multiple: true, default: [] },
    targets: { type: 'boolean', default: false },
  },
});
const [rounds, runs] = ['rounds', 'runs'].map((name) => {
  const count = Number(options[name]);
  if (!Number.isInteger(count) || count < 1) throw new RangeError(`--${name} is ${options[name]}; expected at least 1`);
  return count;
});
const wanted = new RegExp(options.filter);
const only = new RegExp(options.contenders);
const sizes = Object.fromEntries(works.map((work) => [work.id, work]));
const say = (text) => console.log(text);
// What was measured, without the files that it went to.
const measured = ['filter', 'contenders', 'rounds', 'runs', 'targets', 'browser'].flatMap((name) =>
  process.argv.includes(`--${name}`) ? [options[name] === true ? `--${name}` : `--${name} '${options[name]}'`] : [],
);
const command = ['npm run bench --', ...measured].join(' ');
const print = (rows) => say(`\n${columns(rows)}`);

// Start-up and heap as a work has its results, for the table of targets.
function asResults({ startup: starts, heap }) {
  const startupResult = starts && { relaxed: { op: starts.ropewalk }, ort: { op: starts.ort } };
  const bytes = heap && Object.entries(heap).map(([id, n]) => [id, n === null ? {} : { bytes: { median: n } }]);
  return { ...(starts && { startup: startupResult }), ...(heap && { heap: Object.fromEntries(bytes) }) };
}

function finish(run) {
  Object.assign(run.results, asResults(run));
  if (run.startup) print(startupRows(run.startup));
  if (run.heap) print(heapRows(run.heap));
  if (run.growth) for (const rows of growthTables(run.growth)) print(rows);
  run.targets = judge(run.results, sizes);
  print(targetRows(run.targets));
  return run;
}

async function inNode(last) {
  const run = { ...machine(), runtime: `Node ${process.version}`, rounds, results: {} };
  say(machineLine(run));
  const contenders = await openAll({ node: true, wanted: (id) => only.test(id) }, say);
  run.contenders = contenders.map(({ id, title, version }) => ({ id, title, version }));
  const chosen = works.filter(({ id }) => wanted.test(id));
  await measureAll(chosen, contenders, { rounds, targets: options.targets }, (work, result) => {
    run.results[work.id] = result;
    print(workRows(work, result, contenders));
  });
  const grown = !last ? [] : await measureGrowth(contenders, { rounds, wanted: (id) => wanted.test(id) }, say);
  if (grown.length > 0) run.growth = grown;
  for (const contender of contenders) contender.close?.();
  const ids = ['relaxed', 'simd', 'ort', 'tfjs', 'jax'].filter((id) => only.test(id));
  if (wanted.test('heap')) run.heap = await heaps('layer 512 2048 full', ids);
  if (wanted.test('startup')) run.startup = await startup(rounds);
  return finish(run);
}

async function inBrowser() {
  const { runInBrowser } = await import('./browser.mjs');
  const starts = wanted.test('startup') ? rounds : 0;
  const { filter, contenders: names, targets } = options;
  const made = await runInBrowser({ filter, contenders: names, targets, rounds, starts });
  const run = { ...machine(), rounds, ...made };
  say(`\n${machineLine(run)}`);
  for (const work of works) {
    if (run.results[work.id]) print(workRows(work, run.results[work.id], run.contenders));
  }
  return finish(run);
}

// As often as is wanted; the last one, with the median of what all came to.
async function repeated(once) {
  const judgements = [];
  for (let i = 1; ; ++i) {
    if (runs > 1) say(`\nrun ${i} of ${runs}`);
    const run = await once(i === runs);
    judgements.push(run.targets);
    if (i < runs) continue;
    if (runs > 1) print(targetRows(middle(judgements)));
    return { ...run, command, runs, targets: middle(judgements), judgements };
  }
}

const made = options.from.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')));
if (made.length === 0) made.push(await repeated(inNode));
if (options.browser) made.push(await repeated(inBrowser));
if (options.json) writeFileSync(options.json, `${JSON.stringify(made, null, 1)}\n`);
if (options.markdown) writeMarkdown(options.markdown, made, works);
process.exit(0); // some peers leave workers behind
