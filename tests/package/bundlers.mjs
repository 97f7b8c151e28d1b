// Four bundlers with one interface: { path of the entry } -> code of each file of the bundle, minified, for a page.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';
import { rollup } from 'rollup';
import webpackCompiler from 'webpack';
import { target } from './packed.mjs';

const codesOf = (output) => output.map((part) => part.code ?? '');

const esbuilt = (entry) =>
  build({
    entryPoints: [entry],
    absWorkingDir: dirname(entry),
    outdir: 'esbuild',
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    metafile: true,
    write: false,
    logLevel: 'error',
  });

async function esbuild(entry) {
  const { outputFiles } = await esbuilt(entry);
  return outputFiles.map(({ text }) => text);
}

/** The files of esbuild's bundle, and whether a page loads each at its start, as the entry or by its static imports. */
export async function splitBundle(entry) {
  const { outputFiles, metafile } = await esbuilt(entry);
  const { outputs } = metafile;
  const first = Object.keys(outputs).filter((path) => outputs[path].entryPoint === basename(entry));
  for (const path of first) {
    const imported = outputs[path].imports.filter(({ kind }) => kind === 'import-statement');
    first.push(...imported.map((each) => each.path).filter((each) => !first.includes(each)));
  }
  const atStart = (file) => first.includes(relative(dirname(entry), file.path));
  return outputFiles.map((file) => ({ name: basename(file.path), text: file.text, atStart: atStart(file) }));
}

async function rolldownMinified(entry) {
  const bundle = await rolldown({ input: entry, platform: 'browser' });
  return codesOf((await bundle.generate({ minify: true })).output);
}

// Rollup resolves no names of packages by itself, and so reads no `sideEffects` either: it goes by the code alone.
async function rollupByCode(entry) {
  const { exports } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'));
  const resolveId = (id) => (/^ropewalk/.test(id) ? join(target, exports[id.replace('ropewalk', '.')].default) : null);
  const bundle = await rollup({ input: entry, plugins: [{ name: 'package', resolveId }] });
  return codesOf((await bundle.generate({})).output);
}

async function webpack(entry) {
  const path = join(dirname(entry), 'webpack');
  const mode = 'production';
  const stats = await promisify(webpackCompiler)({ entry, mode, output: { path }, performance: { hints: false } });
  if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString());
  return readdirSync(path).map((name) => readFileSync(join(path, name), 'latin1'));
}

export const bundlers = { esbuild, Rollup: rollupByCode, Rolldown: rolldownMinified, webpack };
