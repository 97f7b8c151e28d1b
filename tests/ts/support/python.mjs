// Python of this machine, and what is installed with it.
import { run } from './node.mjs';

// Debian's own Python has Debian's packages, and need not be the first on PATH.
const commands = ['/usr/bin/python3', 'python3'];

/** The command of a Python that has a module; undefined where there is none. */
export async function pythonWith(module) {
  for (const command of commands) {
    const found = await run(['-c', `import ${module}`], { command }).catch(() => undefined);
    if (found !== undefined) return command;
  }
  return undefined;
}

/** Debian's python3-torch is 156 packages, 576 MB on the disk: no run of the tests installs it, those that have it use it. */
export const noTorch = 'not run: this machine has no PyTorch (python3-torch)';
