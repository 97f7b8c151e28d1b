// Work for the worker, by name: it gets the core and its input, and says how far it is.
import { randomScores } from '../pictures/decay';

export const jobs = { randomScores };
