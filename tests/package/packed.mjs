// A project that has the package installed, as npm packs it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { folderWith } from '../ts/support/folder.mjs';
import { installPacked } from '../ts/support/packed.mjs';

const folder = folderWith({ after });

export const { tarball, size, paths, target } = installPacked(folder);

/** Writes a file of that project and gives its path. */
export function projectFile(name, text) {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
