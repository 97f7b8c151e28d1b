// Runs one job and reports its progress. Cancelling ends the whole worker, so a job needs no way out of its own.
import { load } from 'ropewalk/external';
import type { Answer, Request } from '../work/protocol';
import { jobs } from './jobs';

const answer = (message: Answer): void => postMessage(message);

addEventListener('message', async ({ data }: MessageEvent<Request>) => {
  try {
    const core = await load({ simd: 'deterministic' });
    const job = jobs[data.name];
    if (job === undefined) throw new Error(`no job is called ${data.name}`);
    const output = await job(core, data.input as never, (share) => answer({ kind: 'progress', share }));
    answer({ kind: 'done', output });
  } catch (error) {
    answer({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) });
  }
});
