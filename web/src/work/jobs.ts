// Work for the worker, by name: it gets the core and its input, and says how far it is.
import { randomScores } from '../chapters/decay/numbers';
import { measureSpeed } from '../chapters/speed/numbers';

export const jobs = { randomScores, measureSpeed };
