// The chapter's title, and the way to the rest of it.
import type { ChapterSource } from '../../figure/chapter';
import type { Texts } from './i18n/en';

export const source: ChapterSource<Texts> = {
  title: { en: 'Counting in binary: a\u00a0good idea with a\u00a0cliff', zh: '用二进制数数：好主意，却有悬崖' },
  code: () => import('./chapter'),
  texts: { en: () => import('./i18n/en'), zh: () => import('./i18n/zh') },
};
