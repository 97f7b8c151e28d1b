// Work for the worker, by name: it gets the core and its input, and says how far it is.
import { randomScores } from '../pictures/decay';
import { measureSpeed } from '../pictures/speed';

export const jobs = { randomScores, measureSpeed };
