// Files kept in a folder, and a server whose answers change.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { load } from 'ropewalk';
import { cached, openSafetensors, SafetensorsError, storedFiles } from 'ropewalk/models';
import { assertSameBits, random } from './arrays.mjs';
import { folderWith } from './folder.mjs';
import { writeSafetensors } from './safetensors.mjs';
import { sendRange, sendWhole, serve } from './server.mjs';

export const rw = await load({ simd: 'deterministic' });
const f32 = (data) => ({ dtype: 'F32', shape: [data.length], data });
const versionOf = (seed) => {
  const want = { first: random(10, seed), large: random(500_000, seed + 1) };
  return { want, bytes: Buffer.from(writeSafetensors({ first: f32(want.first), large: f32(want.large) })) };
};
export const [one, two] = [versionOf(1), versionOf(3)];
export const { bytes } = one;
/** A file with one tensor of the first. */
export const short = Buffer.from(writeSafetensors({ first: f32(one.want.first) }));
export const [monday, tuesday] = ['Mon, 02 Mar 2026 10:00:00 GMT', 'Tue, 03 Mar 2026 10:00:00 GMT'];

export const noFiles = (t) => join(folderWith(t, {}), 'files');

async function check(file, { want } = one) {
  for (const name of file.names) assertSameBits(await file.tensor(name), want[name]);
  file.dispose();
}

/** Opens the file, compares all of it and closes it; gives the progress of the opening. */
export async function opened(source, version, options = {}) {
  const seen = [];
  await check(await openSafetensors(rw, source, { onProgress: (each) => seen.push(each), ...options }), version);
  return seen;
}

/**
 * A server whose `state` may be changed: { bytes, headers, cut: bytes after which it ends connections, whole: whether it
 * ignores ranges, status: of all answers, gone: whether it answers nobody, noHead: status of answers to HEAD, send: what
 * answers in place of sendRange }. `requests` has method and range of each.
 */
export async function changeable(t, given = {}) {
  const state = { bytes, headers: { ETag: '"a"' }, ...given };
  const requests = [];
  const { url } = await serve(t, (request, response) => {
    requests.push(`${request.method} ${request.headers.range}`);
    const { cut, whole, status } = state;
    if (request.method === 'HEAD' && state.noHead) return response.writeHead(state.noHead).end();
    if (status !== undefined) return response.writeHead(status).end();
    if (state.gone) return response.destroy();
    for (const [name, value] of Object.entries(state.headers)) response.setHeader(name, value);
    const { send: sendPart = sendRange } = state;
    const send = (body) => (whole ? sendWhole(response, body) : sendPart(request, response, body));
    if (cut === undefined || request.method === 'HEAD') return send(state.bytes);
    // The rest never comes.
    const from = whole ? 0 : Number(/\d+/.exec(request.headers.range)[0]);
    const range = `bytes ${from}-${state.bytes.length - 1}/${state.bytes.length}`;
    response.writeHead(whole ? 200 : 206, {
      'Content-Length': state.bytes.length - from,
      ...(!whole && { 'Content-Range': range }),
    });
    response.write(state.bytes.subarray(from, from + cut), () => setImmediate(() => response.destroy()));
  });
  const folder = noFiles(t);
  return {
    state,
    requests,
    folder,
    url: `${url}/dir/m?key=secret`,
    source: cached(`${url}/dir/m?key=secret`, { folder }),
  };
}

export const cutAt = 300_000;
export const broken = (error) => error instanceof SafetensorsError && /connection was cut|ended/.test(error.message);

/** Breaks the download off; gives how many bytes are stored. */
export async function breakOff({ state, source, folder }) {
  state.cut = cutAt;
  await assert.rejects(openSafetensors(rw, source), broken);
  state.cut = undefined;
  const [stored] = await storedFiles({ folder });
  assert.equal(stored.complete, false);
  return stored.bytes;
}
