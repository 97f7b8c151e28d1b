// Installs peers that are missing or not of the locked version: `node tests/peers/install.mjs` those of
// npm run test:peers, with `--all` also those of npm run bench.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const read = (file) => JSON.parse(readFileSync(`${folder}${file}`, 'utf8'));
const all = process.argv.includes('--all');

const { dependencies, devDependencies } = read('package.json');
const wanted = all ? { ...dependencies, ...devDependencies } : dependencies;
const missing = Object.entries(wanted).filter(([name, version]) => {
  const manifest = `node_modules/${name}/package.json`;
  return !existsSync(`${folder}${manifest}`) || read(manifest).version !== version;
});
if (missing.length > 0) {
  console.log(`installing ${missing.map(([name, version]) => `${name}@${version}`).join(', ')}`);
  execFileSync('npm', ['ci', '--prefix', folder, ...(all ? [] : ['--omit=dev'])], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
