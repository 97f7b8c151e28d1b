// The text that the lab of the page learns: the beginning of Pride and Prejudice.
import { writeFileSync } from 'node:fs';
import { novels } from './page-model/text.mjs';

const file = new URL('../../web/src/chapters/lab/text/novel.txt', import.meta.url);
const most = 60_000; // characters

/** Writes its first paragraphs, as many as there is room for. */
export function writeNovel() {
  const novel = novels().find((text) => text.startsWith('PRIDE AND PREJUDICE'));
  writeFileSync(file, novel.slice(0, novel.lastIndexOf('\n', most - 1) + 1));
  console.log(`wrote ${file.pathname}`);
}
