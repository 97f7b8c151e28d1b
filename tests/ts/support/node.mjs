// Runs Node with other arguments in the repository, where `ropewalk` is the built package.
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

const execute = promisify(execFile);

// Milliseconds; what takes so long has come to a stop.
const limit = 600_000;

/**
 * For every Node.js that runs tests or is run by one, as in `npm run test:files`. At its end Node waits for its compiler
 * threads; one of them may wait for a collection, which only the main thread does, and both wait for ever
 * (https://github.com/nodejs/node/issues/54918; 6 of 3090 runs of a program of 0.3 seconds). Collections are asked for when
 * the old objects reach a limit, which sinks from collection to collection unless it is given, in megabytes.
 */
export const nodeFlags = ['--initial-old-space-size=1024'];

/** { stdout, stderr } of a child that exits with 0; otherwise throws with the child's output. */
export function run(args, { cwd = root, command = process.execPath, env = {}, timeout = limit } = {}) {
  // A child of a test run must not think that it is one.
  const { NODE_TEST_CONTEXT, ...inherited } = process.env;
  const flags = command === process.execPath ? nodeFlags : [];
  return execute(command, [...flags, ...args], { cwd, env: { ...inherited, ...env }, timeout, maxBuffer: 2 ** 24 });
}
