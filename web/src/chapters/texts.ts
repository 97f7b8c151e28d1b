// All texts at once, for the build, which writes them as HTML. The page imports none of this.
import type { ChapterSource } from '../figure/chapter';
import type { FrameTexts } from '../i18n/texts';

export { languages, languageTags } from '../i18n/language';

const [frames, chapters, sources] = [
  import.meta.glob<FrameTexts>('../i18n/{en,zh}.ts', { eager: true }),
  import.meta.glob<Readonly<Record<string, unknown>>>('./*/i18n/*.ts', { eager: true, import: 'texts' }),
  import.meta.glob<ChapterSource<unknown>>('./*/index.ts', { eager: true, import: 'source' }),
];

/** The texts around the chapters. */
export const frameIn = (language: string) => frames[`../i18n/${language}.ts`];

/** The title and the texts of a chapter, in reading order: those that come with it, then those of its own later parts. */
export function chapterTexts(id: string, language: 'en' | 'zh') {
  const own = Object.keys(chapters).filter((path) => path.startsWith(`./${id}/`) && path.endsWith(`${language}.ts`));
  const inOrder = own.sort((a, b) => a.length - b.length);
  const texts: Readonly<Record<string, unknown>> = Object.assign({}, ...inOrder.map((path) => chapters[path]));
  return { title: sources[`./${id}/index.ts`]?.title[language], texts };
}
