// The chapters, in reading order. Code and texts of each come when its turn does; one that needs much more than that,
// as the playground does, fetches it in turn when it is mounted.

import type { Chapter } from '../figure/chapter';
import type { ChapterId } from '../i18n/dictionary';

const sources: { readonly [K in ChapterId]: () => Promise<Chapter<K>> } = {
  order: async () => (await import('./order/chapter')).orderChapter,
  binary: async () => (await import('./binary/chapter')).binaryChapter,
  sinusoid: async () => (await import('./sinusoid/chapter')).sinusoidChapter,
  algebra: async () => (await import('./algebra/chapter')).algebraChapter,
  relative: async () => (await import('./relative/chapter')).relativeChapter,
  rope: async () => (await import('./rope/chapter')).ropeChapter,
  decay: async () => (await import('./decay/chapter')).decayChapter,
  context: async () => (await import('./context/chapter')).contextChapter,
  axes: async () => (await import('./axes/chapter')).axesChapter,
  linear: async () => (await import('./linear/chapter')).linearChapter,
  playground: async () => (await import('./playground/chapter')).playgroundChapter,
  speed: async () => (await import('./speed/chapter')).speedChapter,
};

export const chapterIds = Object.keys(sources) as ChapterId[];

/** A chapter's code. */
export function chapterOf<K extends ChapterId>(id: K): Promise<Chapter<K>> {
  return sources[id]();
}
