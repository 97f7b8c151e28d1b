// A temporary folder for a test, removed when the test ends.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Makes a folder with these files ({ path: text }) and gives its path. */
export function folderWith(t, files = {}) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ropewalk-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
