// GGUF files of SmolLM2-135M's shape: tokens per second of ropewalk in Node with one thread, of ropewalk and wllama with one
// thread each in turn in one page of Chromium, and there of ropewalk with several; and memory while loading. Medians.
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../../web/site.mjs';
import { summary } from '../measure.mjs';
import { ggufFile } from './gguf-file.mjs';

export const blockTypes = ['q8_0', 'q4_0', 'q4_k'];
const promptTokens = 128;
const decodedTokens = 32;
const prompt = Array.from({ length: promptTokens }, (_, i) => String.fromCharCode(97 + ((i * 7) % 26))).join('');
const ids = Array.from(prompt, (letter) => letter.charCodeAt(0) - 97);
const sizes = { promptTokens, decodedTokens, ids };

/**
 * Opens a model of ropewalk whose bytes are at hand: { bytes, peak, seconds, run() }. Peak and seconds are those of loading
 * up to the first token, with a cache; run() gives the seconds of a prompt and of tokens after it.
 */
async function openOurs({ load, loadModel }, gguf, { ids: given, promptTokens: read, decodedTokens: made }, threads) {
  const start = performance.now();
  const rw = await (threads > 1 ? load({ threads }) : load());
  if (threads > 1 && rw.info().threads !== threads) throw new Error(rw.info().why);
  const model = await loadModel(rw, { gguf });
  const cache = model.kvCache({ capacity: read + made });
  const drain = async (generated) => {
    for await (const _ of generated);
  };
  await drain(model.generate([1], { cache, maxTokens: 1, temperature: 0 }));
  const seconds = (performance.now() - start) / 1000;
  const bytes = model.info.bytes + cache.bytes;
  return {
    ...{ simd: rw.info().simd, bytes, peak: rw.memory().peak, seconds },
    async run() {
      cache.reset();
      const begin = performance.now();
      await drain(model.generate(given, { cache, maxTokens: 0 }));
      const middle = performance.now();
      await drain(model.generate([1], { cache, maxTokens: made - 1, temperature: 0 }));
      return { prefill: (middle - begin) / 1000, decode: (performance.now() - middle) / 1000 };
    },
    close: () => model.dispose(),
  };
}

// Tokens per second.
const speedOf = (taken) => ({
  prefill: promptTokens / summary(taken.map(({ prefill }) => prefill)).median,
  decode: decodedTokens / summary(taken.map(({ decode }) => decode)).median,
});

const root = fileURLToPath(new URL('../../../', import.meta.url));
const types = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };

// Without them a page has one thread. wllama 3.13 ends Chromium 156 where they are.
const isolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

async function serve(files, headers) {
  const server = createServer(({ url }, response) => {
    const path =
      files[url] ??
      (url.startsWith('/dist/') ? join(root, url) : join(root, 'tests/peers/node_modules/@wllama/wllama/esm', url));
    if (url === '/')
      return response
        .writeHead(200, { ...headers, 'content-type': 'text/html' })
        .end('<!doctype html><title>t</title>');
    try {
      const { size } = statSync(path);
      response.writeHead(200, {
        ...headers,
        'content-type': types[extname(path)] ?? 'application/octet-stream',
        'content-length': size,
      });
      response.end(readFileSync(path));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

// In the page: a model of wllama, with rounds as openOurs has them, by the times that it tells.
async function openWllama(blob, text, made, threads) {
  const { Wllama } = await import('/index.js');
  const start = performance.now();
  const wllama = new Wllama({ default: '/wasm/wllama.wasm' }, { suppressNativeLog: true });
  await wllama.loadModel([blob], { n_ctx: 512, n_threads: threads, n_gpu_layers: 0 });
  const sampling = { temperature: 0, top_k: 1, ignore_eos: true };
  await wllama.createCompletion({ prompt: 'a', max_tokens: 1, ...sampling });
  const seconds = (performance.now() - start) / 1000;
  let round = 0;
  return {
    seconds,
    async run() {
      // Another beginning each time, or the prompt is found in its cache.
      const prompt = String.fromCharCode(98 + (round++ % 25)) + text.slice(1);
      const { timings } = await wllama.createCompletion({ prompt, max_tokens: made, ...sampling });
      return { prefill: timings.prompt_ms / 1000, decode: timings.predicted_ms / 1000 };
    },
    close: () => wllama.exit(),
  };
}

// In the page: opens both with so many threads, and lets them run in turn.
async function runLanes([address, sizes, text, count, threads]) {
  const entry = threads > 1 ? '/dist/threads.js' : '/dist/index.js';
  const [{ load }, { loadModel }] = await Promise.all([import(entry), import('/dist/models.js')]);
  const { openOurs, openWllama } = globalThis;
  const blob = await (await fetch(address)).blob();
  const lanes = [await openOurs({ load, loadModel }, blob, sizes, threads)];
  lanes.push(await openWllama(blob, text, sizes.decodedTokens, threads));
  const taken = lanes.map(() => []);
  // The round before the first is for the compiler.
  for (let round = -1; round < count; ++round) {
    for (const [i, { run }] of lanes.entries()) {
      const times = await run();
      if (round >= 0) taken[i].push(times);
    }
  }
  for (const { close } of lanes) await close();
  return lanes.map(({ run: _, close: __, ...told }, i) => ({ ...told, taken: taken[i] }));
}

async function inChromium(path, count, threads) {
  const browser = await launch();
  const site = await serve({ '/m.gguf': path }, threads > 1 ? isolated : {});
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    await page.goto(site.address);
    await page.evaluate(`Object.assign(globalThis, { openOurs: ${openOurs}, openWllama: ${openWllama} })`);
    return await page.evaluate(runLanes, ['/m.gguf', sizes, prompt, count, threads]);
  } finally {
    await browser.close();
    site.close();
  }
}

async function inNode(path, count) {
  const [{ load }, { loadModel }] = await Promise.all([import('ropewalk'), import('ropewalk/models')]);
  const model = await openOurs({ load, loadModel }, path, sizes, 1);
  const taken = [];
  for (let round = -1; round < count; ++round) taken.push(await model.run());
  model.close();
  return { ...model, taken: taken.slice(1) };
}

/** Rows for `columns` of report.mjs, with one thread and, if `most` is more, with that many. */
export async function ggufRows(folder, count, most) {
  const memory = ['MB with cache', 'peak/MB'];
  const times = ['first token s', 'prefill 128 t/s', 'decode t/s'];
  const rows = [['GGUF, SmolLM2-135M, random', ...memory, ...times, 'over wllama']];
  const row = (what, { bytes, seconds, peak }, { prefill, decode }, over) => {
    const memory = bytes ? [(bytes / 1e6).toFixed(0), (peak / bytes).toFixed(2)] : ['-', '-'];
    rows.push([what, ...memory, seconds.toFixed(2), prefill.toFixed(1), decode.toFixed(1), over]);
  };
  for (const type of blockTypes) {
    const path = ggufFile(folder, type);
    const alone = await inNode(path, count);
    row(`${type}, ropewalk ${alone.simd}, Node`, alone, speedOf(alone.taken), '-');
    const over = (one, other) => {
      const [own, peer] = [speedOf(one.taken), speedOf(other.taken)];
      const ratios = [other.seconds / one.seconds, own.prefill / peer.prefill, own.decode / peer.decode];
      return ratios.map((ratio) => ratio.toFixed(1)).join(' / ');
    };
    const add = (what, lane, base) => row(`${type}, ${what}`, lane, speedOf(lane.taken), over(lane, base));
    const [ours, theirs] = await inChromium(path, count, 1);
    add(`ropewalk ${ours.simd}, Chromium`, ours, theirs);
    add('wllama 3.13.0, Chromium', theirs, theirs);
    if (most === 1) continue;
    const [several, theirSeveral] = await inChromium(path, count, most);
    add(`ropewalk, Chromium, ${most} threads`, several, theirSeveral);
    add(`wllama, Chromium, ${most} threads`, theirSeveral, theirSeveral);
  }
  return rows;
}
