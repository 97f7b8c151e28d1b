// The chapter's title, and the way to the rest of it.
import type { ChapterSource } from '../../figure/chapter';
import type { Texts } from './i18n/en';

export const source: ChapterSource<Texts> = {
  title: { en: 'Try it, with your own model if you like', zh: '动手试试，也可以用你自己的模型' },
  code: () => import('./chapter'),
  texts: { en: () => import('./i18n/en'), zh: () => import('./i18n/zh') },
};
