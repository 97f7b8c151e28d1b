// The package as npm packs it.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './node.mjs';

/**
 * Packs the package into a folder and unpacks it in node_modules there: { tarball, size in bytes, paths of its files,
 * target, the folder where it is }.
 */
export function installPacked(folder) {
  const packing = ['pack', root, '--json', '--ignore-scripts', '--pack-destination', folder];
  const [pack] = JSON.parse(execFileSync('npm', packing, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
  const tarball = join(folder, pack.filename);
  const target = join(folder, 'node_modules', 'ropewalk');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  return { tarball, size: pack.size, paths: pack.files.map(({ path }) => path).sort(), target };
}
