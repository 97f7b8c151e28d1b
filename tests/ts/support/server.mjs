// Local HTTP servers.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';

/** Serves with `answer(request, response)`; gives { url, requests }, where requests lists paths and ranges. */
export async function serve(t, answer) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(`${request.url} ${request.headers.range ?? 'whole'}`);
    response.on('error', () => {});
    answer(request, response);
  });
  server.keepAliveTimeout = 0; // a client that was slow would meet a connection that is being closed
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

/** Serves the files of a folder, with some headers: { address, close }. */
export async function serveFolder(folder, headers = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = join(folder, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    try {
      const body = await readFile(file);
      const type = types[extname(file)] ?? 'application/octet-stream';
      response.writeHead(200, { 'content-type': type, ...headers }).end(body);
    } catch {
      // Browsers ask for the icon by themselves.
      response.writeHead(pathname === '/favicon.ico' ? 204 : 404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${server.address().port}/`, close };
}

/** Answers a range request correctly, except for headers replaced by `change`. */
export function sendRange(request, response, bytes, change = {}) {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range) ?? [];
  if (from === undefined) return sendWhole(response, bytes);
  if (Number(from) >= bytes.length) {
    response.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` });
    return response.end();
  }
  const last = Math.min(bytes.length - 1, to === '' ? bytes.length - 1 : Number(to));
  const part = bytes.subarray(Number(from), last + 1);
  const headers = {
    'Content-Range': `bytes ${from}-${last}/${bytes.length}`,
    'Content-Length': part.length,
    ...change,
  };
  response.writeHead(206, Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)));
  return response.end(part);
}

export function sendWhole(response, bytes) {
  response.writeHead(200, { 'Content-Length': bytes.length });
  response.end(bytes);
}
