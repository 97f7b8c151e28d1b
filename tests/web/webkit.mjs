// WebKit, the engine of Safari: WebKitGTK's MiniBrowser by its driver, on a display without a screen. Debian has them as
// webkit2gtk-driver and xvfb.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { until } from './site.mjs';

const [driver, display] = ['/usr/bin/WebKitWebDriver', '/usr/bin/Xvfb'];

export const hasWebKit = existsSync(driver) && existsSync(display);

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/**
 * Opens a window of WebKit: { goto(address), evaluate(code, argument), close() }, with a function or an expression as
 * code, like a page of the other browsers.
 */
export async function launchWebKit() {
  const screen = spawn(display, ['-displayfd', '1'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [number] = await once(screen.stdout, 'data');
  const port = await freePort();
  const env = { ...process.env, DISPLAY: `:${String(number).trim()}` };
  const server = spawn(driver, [`--port=${port}`], { env, stdio: 'ignore' });
  async function ask(method, path, body) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`WebKit: ${value.error}: ${value.message}`);
    return value;
  }
  await until(() => ask('GET', '/status').catch(() => undefined), 'the driver of WebKit');
  const { sessionId } = await ask('POST', '/session', { capabilities: { alwaysMatch: {} } });
  const session = `/session/${sessionId}`;
  return {
    goto: (url) => ask('POST', `${session}/url`, { url }),
    evaluate(code, argument) {
      const value = typeof code === 'function' ? `(${code})(arguments[0])` : code;
      return ask('POST', `${session}/execute/sync`, { script: `return ${value}`, args: [argument ?? null] });
    },
    async close() {
      await ask('DELETE', session);
      for (const child of [server, screen]) child.kill();
    },
  };
}
