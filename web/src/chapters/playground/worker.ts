// The playground's worker: it holds the model, and the page calls it.
import { load } from 'ropewalk/external';
import { expose } from 'ropewalk/worker';
import { Bench } from './bench';

// The build whose results are the same bits on every machine, as everywhere on this page.
expose(async () => new Bench(await load({ simd: 'deterministic' })));
