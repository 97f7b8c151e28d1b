// The chapter's title, and the way to the rest of it.
import type { ChapterSource } from '../../figure/chapter';
import type { Texts } from './i18n/en';

export const source: ChapterSource<Texts> = {
  title: { en: 'Appendix: rounding and speed', zh: '附录：舍入与速度' },
  code: () => import('./chapter'),
  texts: { en: () => import('./i18n/en'), zh: () => import('./i18n/zh') },
};
