// Runs Node with other arguments in the repository, where `ropewalk` is the built package.
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

const execute = promisify(execFile);

// Milliseconds; what takes so long has come to a stop.
const limit = 600_000;

/** { stdout, stderr } of a child that exits with 0; otherwise throws with the child's output. */
export function run(args, { cwd = root, command = process.execPath, env = {}, timeout = limit } = {}) {
  // A child of a test run must not think that it is one.
  const { NODE_TEST_CONTEXT, ...inherited } = process.env;
  return execute(command, args, { cwd, env: { ...inherited, ...env }, timeout, maxBuffer: 2 ** 24 });
}
