// npm run bench -- [--filter REGEX] [--contenders REGEX] [--rounds N] [--browser] [--json FILE] [--markdown FILE]
// Times works (tests/bench/works) with every contender in one process, in alternation, and says what the targets came
// to. Nothing is asserted: figures of a busy machine mean little, and only ratios within one run mean anything.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openAll } from './contenders/index.mjs';
import { machine, machineLine } from './machine.mjs';
import { measure } from './measure.mjs';
import { columns, targetRows, workRows } from './report.mjs';
import { judge } from './targets.mjs';
import { works } from './works/index.mjs';

const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '.' },
    contenders: { type: 'string', default: '.' },
    rounds: { type: 'string', default: '9' },
    json: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError(`--rounds is ${options.rounds}; expected at least 1`);

const wanted = new RegExp(options.filter);
const chosen = works.filter((work) => wanted.test(work.id));
const runtime = `Node ${process.version}`;
const run = { ...machine(), runtime, rounds, contenders: [], results: {} };
console.log(machineLine(run));

const only = new RegExp(options.contenders);
const contenders = await openAll({ node: true, wanted: (id) => only.test(id) }, console.log);
run.contenders = contenders.map(({ id, title, version }) => ({ id, title, version }));
for (const work of chosen) {
  const result = await measure(work, contenders, { rounds });
  run.results[work.id] = result;
  console.log(`\n${columns(workRows(work, result, contenders))}`);
}
for (const contender of contenders) contender.close?.();

const sizes = Object.fromEntries(works.map((work) => [work.id, work]));
console.log(`\n${columns(targetRows(judge(run.results, sizes)))}`);
if (options.json) writeFileSync(options.json, `${JSON.stringify(run, null, 1)}\n`);
