// One thread and two of `ropewalk/training`, for the same model and batches, in alternation in one process.
import { load, skipLanguageTask } from 'ropewalk/training';

/**
 * Steps per second of wall time with one thread and with two, by the fastest step of `rounds` rounds of `steps`: what else the
 * machine does makes steps slower, never faster. The losses have to be the same.
 */
export async function threadsRates({ batch, model }, { rounds, steps }) {
  const instances = [await load(), await load({ threads: 2 })];
  const { threads, why } = instances[1].info();
  if (threads !== 2) throw new Error(`there are no two threads: ${why}`);
  const runs = instances.map((rw) => ({
    trainer: rw.trainer(model),
    task: skipLanguageTask({ vocab: model.vocab, tokens: model.context }),
    best: Number.POSITIVE_INFINITY,
  }));
  for (let round = 0; round < rounds; ++round) {
    const losses = runs.map((run) => {
      const batches = Array.from({ length: steps }, () => run.task.batch(batch));
      run.trainer.step(batches[0]); // wakes the threads
      return batches.map((each) => {
        const start = performance.now();
        const { loss } = run.trainer.step(each);
        run.best = Math.min(run.best, performance.now() - start);
        return loss;
      });
    });
    if (`${losses[0]}` !== `${losses[1]}`) throw new Error(`losses differ: ${losses.join(' and ')}`);
  }
  for (const rw of instances) rw.dispose();
  return runs.map(({ best }) => 1000 / best);
}
