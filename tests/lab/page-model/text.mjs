// The text that the page's model is trained on: Jane Austen's six novels, from Debian's package r-cran-janeaustenr.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';

const folder = fileURLToPath(new URL('../../../build/page-model', import.meta.url));
const data = join(folder, 'usr/lib/R/site-library/janeaustenr/data/Rdata.rdb');
const checksum = 'e8a06c682b920be9ea16d246c6ab20b9431e556f2db4d2ee42c656ad1c743d97';

// What the package has is kept in build/, so that it is fetched once.
function fetchPackage() {
  if (existsSync(data)) return;
  mkdirSync(folder, { recursive: true });
  execFileSync('apt-get', ['download', 'r-cran-janeaustenr'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
  execFileSync('dpkg-deb', ['-x', file, '.'], { cwd: folder });
}

// The strings of a character vector as R serializes it, big-endian: after 14 bytes the length and the name of the encoding,
// then flags and length of the vector, then flags, length and bytes of each string.
function stringsOf(bytes) {
  let at = 14 + 4 + bytes.readInt32BE(14) + 4;
  const count = bytes.readInt32BE(at);
  at += 4;
  return Array.from({ length: count }, () => {
    const length = bytes.readInt32BE(at + 4);
    at += 8 + length;
    return bytes.toString('utf8', at - length, at);
  });
}

// A database of R: the size and then the zlib stream of each object.
function* objectsOf(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const { buffer, engine } = inflateSync(bytes.subarray(at + 4), { info: true });
    yield buffer;
    at += 4 + engine.bytesWritten;
  }
}

// Paragraphs in a line each, in ASCII.
function plain(lines) {
  const paragraphs = lines
    .map((line) => line.trim())
    .join('\n')
    .split(/\n{2,}/);
  return paragraphs
    .map((paragraph) => paragraph.replaceAll(/\s+/g, ' ').trim())
    .filter((paragraph) => paragraph !== '')
    .join('\n')
    .normalize('NFD')
    .replaceAll(/[“”]/g, '"')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll('—', '--')
    .replaceAll(/[^\n -~]|_/g, '');
}

/** The six novels, each a text. */
export function novels() {
  fetchPackage();
  const texts = Array.from(objectsOf(readFileSync(data)), (object) => plain(stringsOf(object)));
  const found = createHash('sha256').update(texts.join('\n')).digest('hex');
  if (found !== checksum) throw new Error(`the text has SHA-256 ${found}; expected ${checksum}`);
  return texts;
}
