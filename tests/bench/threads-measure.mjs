// Works with one thread and with several, timed in Node or in a page.
import * as onnxruntime from './contenders/onnxruntime.mjs';
import * as ropewalk from './contenders/ropewalk.mjs';
import { measure } from './measure.mjs';
import { works } from './works/index.mjs';

const own = (contenders, id) => contenders.find((contender) => contender.id === id);

/** One thread and several of ropewalk, then of onnxruntime-web. */
export const threadContenders = (threads) => [
  own(ropewalk.contenders, 'relaxed'),
  ropewalk.threaded(threads),
  own(onnxruntime.contenders, 'ort'),
  onnxruntime.threaded(threads),
];

/** Gives the medians of each run, in the order of the contenders, by the work's id. */
export async function measureThreads({ filter, threads, rounds, runs }, environment, say = () => {}) {
  const opened = [];
  for (const contender of threadContenders(threads)) {
    opened.push({ ...contender, ...(await contender.open(environment)) });
  }
  const wanted = new RegExp(filter);
  const results = {};
  for (const work of works.filter(({ id }) => wanted.test(id))) {
    const medians = [];
    for (let run = 0; run < runs; ++run) {
      const result = await measure(work, opened, { rounds, paths: ['op'], threads: true });
      medians.push(opened.map(({ id }) => result[id].op?.median));
    }
    say(work.title);
    results[work.id] = medians;
  }
  return results;
}
