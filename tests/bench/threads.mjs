// node tests/bench/threads.mjs [--filter REGEX] [--threads N] [--rounds N]
// Times works with one thread and with several, of ropewalk and of onnxruntime-web, in alternation in one process, and
// prints how many times as long one thread takes as several of either, and onnxruntime-web's as ropewalk's. Nothing is
// asserted: the other threads need processors that nobody else uses.
import { parseArgs } from 'node:util';
import { enableRelaxed } from '../vectors/builds.mjs';
import * as onnxruntime from './contenders/onnxruntime.mjs';
import * as ropewalk from './contenders/ropewalk.mjs';
import { machine, machineLine } from './machine.mjs';
import { measure } from './measure.mjs';
import { columns, milliseconds } from './report.mjs';
import { works } from './works/index.mjs';

const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '.' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '9' },
  },
});
const [threads, rounds] = [options.threads, options.rounds].map(Number);
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

const rows = [
  [
    '',
    ...chosen.map(({ title }) => title),
    `of ropewalk, 1 : ${threads}`,
    `${threads} threads, onnxruntime : ropewalk`,
  ],
];
for (const work of works.filter(({ id }) => wanted.test(id))) {
  const result = await measure(work, opened, { rounds, paths: ['op'] });
  const times = chosen.map(({ id }) => result[id].op?.median);
  const shown = (time) => (time === undefined ? '' : milliseconds(time));
  const ratio = (a, b) => (a && b ? (a / b).toFixed(2) : '');
  rows.push([work.title, ...times.map(shown), ratio(times[0], times[1]), ratio(times[3], times[1])]);
}
console.log(machineLine({ ...machine(), runtime: `Node ${process.version}` }));
console.log(columns(rows));
process.exit(0); // onnxruntime leaves workers behind
