// Runs one job and says how far it is. Cancelling ends the whole worker, so a job needs no way out of its own.
import { load } from 'ropewalk/external';
import { jobs } from './jobs';
import type { Answer, Request } from './protocol';

const answer = (message: Answer): void => postMessage(message);

addEventListener('message', async ({ data }: MessageEvent<Request>) => {
  try {
    const core = await load({ simd: 'deterministic' });
    const job = jobs[data.name] as (core: unknown, input: unknown, tell: (share: number) => void) => unknown;
    const output = await job(core, data.input, (share) => answer({ kind: 'progress', share }));
    answer({ kind: 'done', output });
  } catch (error) {
    answer({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) });
  }
});
