// The package: most of what the page loads, in a file that it does not wait for.
import { load, type Ropewalk } from 'ropewalk/external';

/** The build whose results are the same bits on every machine: a picture that was sent shows what its sender saw. */
export const loadCore = (): Promise<Ropewalk> => load({ simd: 'deterministic' });
