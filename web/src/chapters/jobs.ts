// Work of chapters for the worker, by name.
import type { Job } from '../work/protocol';
import { randomScores } from './decay/programs';
import { measureSpeed } from './speed/numbers';
import { measureThreads } from './speed/threads';

export const jobs: Readonly<Record<string, Job>> = { randomScores, measureSpeed, measureThreads };
