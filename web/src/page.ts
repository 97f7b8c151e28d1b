// The article around the chapters: header, title, contents, footer. Built anew for each language.
import type { Ropewalk } from 'ropewalk';
import { chapters } from './chapters';
import type { ChapterState } from './chapters/chapter';
import { button } from './controls';
import { h, svg } from './dom';
import type { Dictionary } from './i18n/dictionary';
import { dictionary, type Language, languages, numbersOf } from './i18n/language';
import { directions } from './pictures/rotation-picture';
import { richText } from './rich-text';
import { choice, type Field, type Section, type State } from './state';
import { type Theme, themes } from './theme';
import { needles } from './views/needles';

const chapterIds = chapters.map(({ id }) => id);

/** The part of the state that belongs to no chapter. Absent fields: the reader's language, the system's theme. */
export const pageFields = (language: Language) => ({
  lang: choice(languages, language),
  theme: { ...choice(themes, 'auto'), print: (theme: Theme) => (theme === 'auto' ? undefined : theme) },
  // The chapter that a link opens at.
  at: {
    initial: undefined,
    parse: (id: string) => chapterIds.find((known) => known === id),
    print: (id: string | undefined) => id,
  } satisfies Field<string | undefined> as Field<string | undefined>,
});

export type PageSection = Section<ReturnType<typeof pageFields>>;

// Half a disc, a sun, a moon.
const themeIcons: Record<Theme, { readonly radius: number; readonly path: string }> = {
  auto: { radius: 8, path: 'M12 4a8 8 0 0 0 0 16z' },
  light: {
    radius: 4.5,
    path: 'M12 2v2.500M12 19.500V22M2 12h2.500M19.5 12H22M5 5l1.7 1.700M17.3 17.3 19 19M5 19l1.7-1.700M17.3 6.7 19 5',
  },
  dark: { radius: 0, path: 'M20 14.200A8.5 8.5 0 1 1 9.8 4a6.8 6.8 0 0 0 10.2 10.200z' },
};

function showThemeOn(themeButton: HTMLElement, texts: Dictionary, theme: Theme): void {
  const { radius, path } = themeIcons[theme];
  themeButton.replaceChildren(
    svg(
      'svg',
      { class: `icon ${theme}`, viewBox: '0 0 24 24', 'aria-hidden': 'true' },
      svg('circle', { cx: 12, cy: 12, r: radius }),
      svg('path', { d: path }),
    ),
  );
  themeButton.setAttribute('aria-label', texts.page.themeIs(theme));
  themeButton.title = texts.page.themeIs(theme);
}

function header(texts: Dictionary, page: PageSection): HTMLElement {
  const { lang, theme } = page.values;
  const other = languages.find((language) => language !== lang) ?? lang;
  const languageButton = button(dictionary(other).page.languageName, () => page.set({ lang: other }), 'button quiet');
  languageButton.id = 'language';
  languageButton.lang = other;
  const themeButton = button(
    '',
    () => {
      const now = page.values.theme;
      page.set({ theme: themes[(themes.indexOf(now) + 1) % themes.length] ?? 'auto' });
    },
    'button quiet icon-button',
  );
  themeButton.id = 'theme';
  showThemeOn(themeButton, texts, theme);
  const skip = button(texts.page.skip, () => document.querySelector<HTMLElement>('main')?.focus(), 'button skip');
  return h(
    'header',
    { class: 'site' },
    skip,
    h('span', { class: 'mark', translate: 'no' }, 'Ropewalk'),
    h('span', { class: 'tools' }, languageButton, themeButton),
  );
}

/** Brings a chapter to the top of the window, and the keyboard with it. */
export function goTo(id: string): void {
  const heading = document.querySelector<HTMLElement>(`#chapter-${id} h2`);
  heading?.scrollIntoView();
  heading?.focus({ preventScroll: true });
}

function contents(texts: Dictionary, page: PageSection, state: State): HTMLElement {
  const items = chapters.map(({ id, title }) => {
    const link = h('a', { href: state.link({ at: id }) }, title(texts));
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      // The hash is the state, not the name of a place: the browser would look for the wrong thing.
      event.preventDefault();
      page.set({ at: id });
      goTo(id);
    });
    return h('li', {}, link);
  });
  return h('nav', { class: 'contents', 'aria-label': texts.page.contents }, h('ol', {}, ...items));
}

function opening(texts: Dictionary, page: PageSection, state: State, core: Ropewalk): HTMLElement {
  const words = texts.page.title.map((word) => word.trim());
  // Chinese breaks lines anywhere; a title should not break inside a word.
  const title = texts.page.title.flatMap((word) => [word, h('wbr')]);
  const picture = needles(texts.page.needles, { words, directions: directions(core, words.length) });
  return h(
    'div',
    { class: 'opening prose' },
    h('h1', {}, ...title),
    h('p', { class: 'lede' }, texts.page.lede),
    picture,
    h('p', { class: 'needles-note' }, texts.page.needles),
    contents(texts, page, state),
  );
}

/** Puts the page, in the language of the state, into the document. Gives a function that takes it out. */
export function mountPage(state: State, page: PageSection, core: Ropewalk): () => void {
  const { lang } = page.values;
  const texts = dictionary(lang);
  const numbers = numbersOf(lang);
  const { version, simd } = core.info();
  document.documentElement.lang = lang === 'zh' ? 'zh-Hans' : lang;
  document.title = `${texts.page.title.join('')} · Ropewalk`;

  const ends: (() => void)[] = [];
  const sections = chapters.map((chapter) => {
    const root = h('div');
    const own: ChapterState = {
      texts,
      numbers,
      section: (fields) => state.section(chapter.id, fields),
      subscribe: (listener) => state.subscribe(listener),
      link: () => state.link({ at: chapter.id }),
    };
    ends.push(chapter.mount(root, own, core));
    return h(
      'section',
      { class: 'chapter', id: `chapter-${chapter.id}` },
      h('h2', { tabindex: -1 }, chapter.title(texts)),
      root,
    );
  });
  document.body.replaceChildren(
    header(texts, page),
    h('main', { tabindex: -1 }, opening(texts, page, state, core), ...sections),
    h(
      'footer',
      { class: 'site prose' },
      h('p', {}, texts.page.build(version, simd)),
      h('p', {}, ...richText(texts.page.console)),
    ),
  );
  return () => {
    for (const end of ends) end();
  };
}

/** Shows the theme of the state in the header. */
export function showTheme(texts: Dictionary, theme: Theme): void {
  const themeButton = document.getElementById('theme');
  if (themeButton !== null) showThemeOn(themeButton, texts, theme);
}
