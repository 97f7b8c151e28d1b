// The chapter's title, and the way to the rest of it.
import type { ChapterSource } from '../../figure/chapter';
import type { Texts } from './i18n/en';

export const source: ChapterSource<Texts> = {
  title: { en: 'How fast it runs on your device', zh: '在你的设备上有多快' },
  code: () => import('./chapter'),
  texts: { en: () => import('./i18n/en'), zh: () => import('./i18n/zh') },
};
