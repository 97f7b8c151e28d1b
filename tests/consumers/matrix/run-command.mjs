// Runs a consumer's commands: to their end, or as servers.
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

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

const environment = (env) => {
  // A child of a test run must not think that it is one.
  const { NODE_TEST_CONTEXT, ...inherited } = process.env;
  return { ...inherited, NO_COLOR: '1', CI: 'true', ...env };
};

/** What a command prints; throws with all of its output where it fails. */
export async function execute(command, args, cwd, { env = {} } = {}) {
  const options = { cwd, env: environment(env), timeout: limit, maxBuffer: 2 ** 26 };
  try {
    const { stdout } = await promisify(execFile)(command, args, options);
    return stdout;
  } catch (error) {
    throw new Error(`${error.message}\n${error.stdout}\n${error.stderr}`);
  }
}

/** A server that prints its address: { address, close }. */
export async function serverOf(command, args, cwd, { env = {} } = {}) {
  const child = spawn(command, args, { cwd, env: environment(env), detached: true });
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

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

/** A folder on a plain server: { address, close }. */
export async function served(folder) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = join(folder, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    try {
      const body = await readFile(file);
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${server.address().port}/`, close };
}
