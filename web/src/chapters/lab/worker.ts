// The lab's worker: it trains, and the page calls it.
import { load } from 'ropewalk/training';
import { expose } from 'ropewalk/worker';
import { threadOfPage } from '../../work/own-threads';
import { Lab } from './lab';

// Threads where the page may have them and a processor is free for one. Their file may be missing without a network.
const hasThreads = crossOriginIsolated && navigator.hardwareConcurrency > 2;

const loadThreads = () => load({ threads: 'auto', worker: threadOfPage });

expose(async () => new Lab(await (hasThreads ? loadThreads().catch(() => load()) : load())));
