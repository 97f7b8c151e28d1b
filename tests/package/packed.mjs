// The package as npm packs it, and a project that has it installed.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { folderWith } from '../ts/support/folder.mjs';
import { root } from '../ts/support/node.mjs';

const folder = folderWith({ after });
const packing = ['pack', root, '--json', '--ignore-scripts', '--pack-destination', folder];
const [pack] = JSON.parse(execFileSync('npm', packing, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));

/** The tarball, its size in bytes, and the paths of the files in it. */
export const tarball = join(folder, pack.filename);
export const { size } = pack;
export const paths = pack.files.map(({ path }) => path).sort();

/** The package, installed in node_modules of a project. */
export const target = join(folder, 'node_modules', 'ropewalk');
mkdirSync(target, { recursive: true });
execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);

/** Writes a file of that project and gives its path. */
export function projectFile(name, text) {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
