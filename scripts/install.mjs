// Installs the dependencies of a folder that has its own package.json, unless those of the locked versions are there:
// `node scripts/install.mjs FOLDER`, with `--all` also its devDependencies. Keeps tools that few commands need out of the
// `npm ci` of the repository.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [name] = process.argv.slice(2).filter((argument) => argument !== '--all');
if (name === undefined) throw new Error('which folder? node scripts/install.mjs FOLDER [--all]');
const folder = resolve(name);
const all = process.argv.includes('--all');
const read = (file) => JSON.parse(readFileSync(join(folder, file), 'utf8'));

const { dependencies, devDependencies } = read('package.json');
const wanted = all ? { ...dependencies, ...devDependencies } : dependencies;
const missing = Object.entries(wanted).filter(([name, version]) => {
  const manifest = join('node_modules', name, 'package.json');
  return !existsSync(join(folder, manifest)) || read(manifest).version !== version.replace(/^npm:.*@/, '');
});
if (missing.length > 0) {
  console.log(`installing ${missing.map(([name, version]) => `${name}@${version}`).join(', ')}`);
  execFileSync('npm', ['ci', '--prefix', folder, ...(all ? [] : ['--omit=dev'])], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
