// The chapters, in reading order. Code and texts of each come when its turn does; one that needs much more than that,
// as the playground does, fetches it in turn when it is mounted.
import type { ChapterId } from '../i18n/dictionary';
import type { Chapter } from './chapter';

const sources: { readonly [K in ChapterId]: () => Promise<Chapter<K>> } = {
  order: async () => (await import('./order')).orderChapter,
  binary: async () => (await import('./binary')).binaryChapter,
  sinusoid: async () => (await import('./sinusoid')).sinusoidChapter,
  algebra: async () => (await import('./algebra')).algebraChapter,
  relative: async () => (await import('./relative')).relativeChapter,
  rope: async () => (await import('./rope')).ropeChapter,
  decay: async () => (await import('./decay')).decayChapter,
  context: async () => (await import('./context')).contextChapter,
  axes: async () => (await import('./axes')).axesChapter,
  linear: async () => (await import('./linear')).linearChapter,
  playground: async () => (await import('./playground')).playgroundChapter,
  speed: async () => (await import('./speed')).speedChapter,
};

export const chapterIds = Object.keys(sources) as ChapterId[];

/** A chapter's code. */
export function chapterOf<K extends ChapterId>(id: K): Promise<Chapter<K>> {
  return sources[id]();
}
