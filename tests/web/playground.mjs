// Shared by the tests of the playground: files of a model, figures in either browser, their programs in Node.
import assert from 'node:assert/strict';
import { fileOfModel, tinyLlama } from '../ts/support/tiny-models.mjs';
import { figureOf, launchBoth, runProgram, serve, until } from './site.mjs';

export { browsers } from './site.mjs';

// In the page: a worker that was told to end has all the time of a slow machine, where the page gives it 5 seconds.
function waitForWorkers() {
  const wait = globalThis.setTimeout;
  globalThis.setTimeout = (call, ms, ...rest) => wait(call, ms === 5000 ? 600_000 : ms, ...rest);
}

/**
 * A site, both browsers, and a function that opens the page in one of them at some state; `end` closes all. Pages wait
 * for their worker, unless `init` is given.
 */
export async function start() {
  const [site, both] = await Promise.all([serve({ inSteps: true }), launchBoth()]);
  return {
    site,
    chromium: both.chromium,
    fresh: (browser, state = '', options = {}) =>
      both.open(browser, site.address, { hash: `#lang=en&${state}`, init: waitForWorkers, ...options }),
    async end() {
      await both.close();
      await site.close();
    },
  };
}

// Where the worker is to stand still: at a share of a load or a pass, or at a token that it gives, counted from 1.
const at = (what, isThere) => (url) => url.searchParams.has(what) && isThere(Number(url.searchParams.get(what)));
export const atLoad = (least) => at('load', (share) => share >= least);
export const atPass = (least) => at('pass', (share) => share >= least);
export const atItem = (number) => at('item', (item) => item === number);

export const path = (name) => `#figure-playground-${name}`;
export const of = (page, name) => figureOf(page, 'playground', name);

/** The notices of a figure, including refusals by the package. */
export const noticesOf = (page, name) =>
  page.evaluate(
    (selector) =>
      Array.from(document.querySelectorAll(`${selector} .notice`), ({ textContent }) => textContent)
        .filter((text) => text !== '')
        .join(' '),
    path(name),
  );
export const says = (page, name, expected) =>
  until(async () => expected.test(await noticesOf(page, name)), `${name} says ${expected}`);
export const isLoaded = (page) =>
  until(async () => /parameters in|个参数/.test(await of(page, 'model').summary()), 'the model');
export const isWithout = (page) =>
  until(async () => /no model|还没有模型/.test(await of(page, 'model').summary()), 'no model');
export const isSeen = (page) => until(async () => /^(Layer|第)/.test(await of(page, 'look').summary()), 'the maps');
/** The fraction shown by a figure's progress bar; undefined if it has none. */
export const barOf = (page, name) =>
  page.evaluate((selector) => {
    const bar = document.querySelector(`${selector} progress`);
    return bar.checkVisibility() ? bar.value : undefined;
  }, path(name));

/** Types into the only text input of a figure. */
export const write = (page, name, text) =>
  page.evaluate(
    ([selector, text]) => {
      const input = document.querySelector(`${selector} input[type=text]`);
      input.value = text;
      input.dispatchEvent(new Event('input', { bubbles: true }));
    },
    [path(name), text],
  );

/** Text or bytes, followed by `zeros` zero bytes, as a file. */
export const file = (name, content, zeros = 0) => ({ name, base64: Buffer.from(content).toString('base64'), zeros });
export const filesOf = ({ config, ...model }) => [
  file('config.json', JSON.stringify(config)),
  file('model.safetensors', fileOfModel({ config, ...model })),
];

/** A LLaMA `times` as wide as the small one of the tests, in float16, all zeros. */
export function wideFiles(times, layers) {
  const { config, tensors } = tinyLlama({ num_hidden_layers: layers });
  const { vocab_size: vocabulary } = config;
  const wide = (size) => (size === vocabulary ? size : times * size);
  const header = {};
  let at = 0;
  for (const [name, { shape }] of Object.entries(tensors)) {
    const real = shape.map(wide);
    const bytes = 2 * real.reduce((a, b) => a * b);
    header[name] = { dtype: 'F16', shape: real, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const { hidden_size, intermediate_size } = config;
  const sizes = { hidden_size: wide(hidden_size), intermediate_size: wide(intermediate_size) };
  return [
    file('config.json', JSON.stringify({ ...config, ...sizes })),
    file('model.safetensors', Buffer.concat([length, text]), at),
  ];
}

/**
 * Gives files to the page, by its picker or dropped onto its zone. They are made in the page, since only one of the two
 * browsers can be automated to pick files from disk.
 */
export const give = (page, files, how = 'pick') =>
  page.evaluate(
    ([selector, files, how]) => {
      const dataTransfer = new DataTransfer();
      const piece = new Uint8Array(2 ** 20);
      for (const { name, base64, zeros } of files) {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const pieces = Array.from({ length: Math.floor(zeros / piece.length) }, () => piece);
        const rest = piece.slice(0, zeros % piece.length);
        dataTransfer.items.add(new File([bytes, ...pieces, rest], name));
      }
      const figure = document.querySelector(selector);
      if (how === 'drop') {
        const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
        figure.querySelector('.drop-zone').dispatchEvent(event);
        return;
      }
      const input = figure.querySelector('input[type=file]');
      input.files = dataTransfer.files;
      input.dispatchEvent(new Event('change', { bubbles: true }));
    },
    [path('model'), files, how],
  );

/** Runs a program of the page in Node and gives its numbers. */
export async function run(code) {
  const { result } = await runProgram(code, ['result']);
  return result.flat();
}

/** Compares numbers; those that depend on an engine's exp or log may differ in the last bits. */
export function same(shown, computed, tolerance = 0) {
  assert.ok(shown.length > 0);
  assert.equal(shown.length, computed.length);
  for (const [i, value] of shown.entries()) {
    const isNear = Number.isNaN(value) || Math.abs(value - computed[i]) <= tolerance;
    assert.ok(isNear, `number ${i}: ${value}, computed ${computed[i]}`);
  }
}

/** The state of a link: a small decoder, and every setting of the playground unlike its default. */
export const linked =
  'playground.stack.encoding=interleaved&playground.stack.heads=8&playground.stack.kv=2&playground.stack.causal=1' +
  '&playground.stack.window=3&playground.stack.sinks=1&playground.stack.layers=3&playground.stack.base=100' +
  '&playground.stack.scaling=yarn&playground.stack.factor=16&playground.stack.seed=7&playground.stack.view=biased' +
  '&playground.model.tiny=decoder&playground.model.seed=3&playground.look.ids=1+2+3+1+2&playground.look.layer=2' +
  '&playground.look.wish=ntk&playground.look.base=1000&playground.look.view=probabilities&playground.write.topK=5';
