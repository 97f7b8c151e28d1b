// The lab's worker: it trains, and the page calls it.
import { load } from 'ropewalk/training';
import { expose } from 'ropewalk/worker';
import { Lab } from './lab';

expose(async () => new Lab(await load()));
