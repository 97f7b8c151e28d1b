// What is known of a chapter before its turn comes. Code and texts come then; what needs much more than that, as the
// playground does, fetches it in turn when it is mounted.
import type { ChapterSource } from '../figure/chapter';
import type { chapterIds } from './ids';

export type ChapterId = (typeof chapterIds)[number];

const sources = import.meta.glob<ChapterSource<unknown>>('./*/index.ts', { eager: true, import: 'source' });

export function chapterOf(id: ChapterId): ChapterSource<unknown> {
  const source = sources[`./${id}/index.ts`];
  if (source === undefined) throw new Error(`there is no folder of the chapter ${id}`);
  return source;
}
