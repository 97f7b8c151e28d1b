// The chapter's title, and the way to the rest of it.
import type { ChapterSource } from '../../figure/chapter';
import type { Texts } from './i18n/en';

export const source: ChapterSource<Texts> = {
  title: { en: 'Reading further than one was taught', zh: '读得比学过的更远' },
  code: () => import('./chapter'),
  texts: { en: () => import('./i18n/en'), zh: () => import('./i18n/zh') },
};
