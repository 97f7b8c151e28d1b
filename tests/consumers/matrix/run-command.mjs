// Runs a consumer's commands: to their end, or as servers.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../../ts/support/node.mjs';

const modules = fileURLToPath(new URL('./node_modules/', import.meta.url));
const limit = 900_000; // ms; what takes so long has come to a stop

/** The folder of a package. */
export const packageOf = (name) => join(modules, name);

// Programs that come as a binary of the platform, in a package of their own.
const binaries = { bun: /^@oven\/bun-(linux|darwin)-\w+$/, deno: /^@deno\// };

/** The path of such a program: bun or deno. */
export function binaryOf(name) {
  const beside = join(modules, name, 'bin', `${name}.exe`); // where the package's own installation puts it
  if (existsSync(beside)) return beside;
  const [scope] = binaries[name].source.match(/@\w+/);
  for (const each of readdirSync(join(modules, scope))) {
    for (const file of [join('bin', name), name]) {
      const path = join(modules, scope, each, file);
      if (binaries[name].test(`${scope}/${each}`) && existsSync(path)) return path;
    }
  }
  throw new Error(`tests/consumers has no ${name}; run npm ci there`);
}

const plain = { NO_COLOR: '1', CI: 'true' };

/** What a command prints; throws with all of its output where it fails. */
export async function execute(command, args, cwd, { env = {} } = {}) {
  try {
    return (await run(args, { command, cwd, env: { ...plain, ...env } })).stdout;
  } catch (error) {
    throw new Error(`${error.message}\n${error.stdout}\n${error.stderr}`);
  }
}

/** A server that prints its address: { address, close }. */
export async function serverOf(command, args, cwd, { env = {} } = {}) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...plain, ...env }, detached: true });
  let printed = '';
  const address = await new Promise((resolve, reject) => {
    const read = (data) => {
      printed += data;
      const [found] = printed.match(/http:\/\/(127\.0\.0\.1|localhost):[1-9]\d*/) ?? [];
      if (found) resolve(`${found}/`);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', () => reject(new Error(`ended: ${printed}`)));
    setTimeout(() => reject(new Error(`no address in ${limit} ms: ${printed}`)), limit).unref();
  });
  return { address, close: () => process.kill(-child.pid) };
}
