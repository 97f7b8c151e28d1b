// Work that takes longer than a frame: in a worker of its own, with progress, and cancelled by ending the worker.
import { address } from 'virtual:worker';
import type { Answer, Job, JobInput, JobOutput } from './protocol';
import { threadsFor } from './threads-for';

export interface LongWork {
  /**
   * @param name of the job in chapters/jobs.ts.
   * @throws the signal's reason once it is aborted; an Error with what the job said where that failed.
   */
  run<J extends Job>(
    name: string,
    input: JobInput<J>,
    options: { readonly signal: AbortSignal; readonly progress: (share: number) => void },
  ): Promise<JobOutput<J>>;
}

export const longWork: LongWork = {
  run(name, input, { signal, progress }) {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const worker = new Worker(address, { type: 'module' });
      const endThreads = threadsFor(worker);
      const end = (then: () => void): void => {
        worker.terminate();
        endThreads();
        signal.removeEventListener('abort', aborted);
        then();
      };
      const aborted = (): void => end(() => reject(signal.reason));
      signal.addEventListener('abort', aborted);
      worker.addEventListener('error', (event) => end(() => reject(new Error(event.message || 'the worker failed'))));
      worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
        if (data.kind === 'progress') progress(data.share);
        else if (data.kind === 'done') end(() => resolve(data.output as never));
        else if (data.kind === 'failed') end(() => reject(new Error(data.reason)));
      });
      worker.postMessage({ name, input });
    });
  },
};
