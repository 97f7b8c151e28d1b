// The article around the chapters: bar, title, contents, footer. Built anew for each language.

import { frequencies } from 'virtual:first-view';
import type { Ropewalk } from 'ropewalk';
import { fetchChapter, type Mount } from '../chapters/fetch';
import { chapterIds, onDemand } from '../chapters/ids';
import { type ChapterId, chapterOf } from '../chapters/registry';
import { type Language, languageNames, languages, languageTags, numbersOf } from '../i18n/language';
import type { FrameTexts } from '../i18n/texts';
import { button } from '../ui/controls';
import { h, svg } from '../ui/dom';
import { richText } from '../ui/rich-text';
import { choice, type Field, type Section, type State } from '../ui/state';
import { type Theme, themes } from '../ui/theme';
import { needles } from '../views/needles';
import type { Coming } from '../work/coming';
import { whenNear } from '../work/near';
import { rest, wake } from '../work/rest';
import { settled } from '../work/soon';
import { lookOf } from './beside';
import { comesBack, holds, keepPlace, type ReadingPlace, readingPlace, topOf, watchMoves } from './place';

/** A chapter, or a figure of one: `rope.pair`. */
export type Place = ChapterId | `${ChapterId}.${string}`;

/** The chapter of a place. */
export const chapterIn = (place: Place): ChapterId => place.split('.')[0] as ChapterId;

/** The part of the state that belongs to no chapter. Absent fields: the reader's language, the system's theme. */
export const pageFields = (language: Language) => ({
  lang: choice(languages, language),
  theme: { ...choice(themes, 'auto'), print: (theme: Theme) => (theme === 'auto' ? undefined : theme) },
  // What a link opens at.
  at: {
    initial: undefined,
    parse: (place: string) => (chapterIds.includes(chapterIn(place as Place)) ? (place as Place) : undefined),
    print: (place: Place | undefined) => place,
  } satisfies Field<Place | undefined> as Field<Place | undefined>,
});

export type PageSection = Section<ReturnType<typeof pageFields>>;

// Half a disc, a sun, a moon.
const themeIcons: Record<Theme, { readonly radius: number; readonly path: string }> = {
  auto: { radius: 8, path: 'M12 4a8 8 0 0 0 0 16z' },
  light: {
    radius: 4.5,
    path: 'M12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3 19 19M5 19l1.7-1.7M17.3 6.7 19 5',
  },
  dark: { radius: 0, path: 'M20 14.2A8.5 8.5 0 1 1 9.8 4a6.8 6.8 0 0 0 10.2 10.2z' },
};

function icon(look: string, radius: number, path: string): SVGElement {
  return svg(
    'svg',
    { class: `icon ${look}`, viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    svg('circle', { cx: 12, cy: 12, r: radius }),
    svg('path', { d: path }),
  );
}

function showThemeOn(themeButton: HTMLElement, texts: FrameTexts, theme: Theme): void {
  const { radius, path } = themeIcons[theme];
  themeButton.replaceChildren(icon(theme, radius, path));
  themeButton.setAttribute('aria-label', texts.page.themeIs(theme));
  themeButton.title = texts.page.themeIs(theme);
}

// The figure of a place, the heading of a chapter where there is none (yet), or all of the article.
const headOf = (place: Place | undefined) =>
  document.getElementById(`figure-${place?.replace('.', '-')}`) ??
  document.querySelector<HTMLElement>(place === undefined ? 'main' : `#chapter-${chapterIn(place)} h2`);

/** Brings a place to the top of the window, and the keyboard with it. */
export function goTo(place: Place): void {
  const head = headOf(place);
  if (head === null) return;
  head.tabIndex = -1;
  head.scrollIntoView();
  head.focus({ preventScroll: true });
}

/** Tells that the texts of another language did not come, wherever one reads. */
export function tellLost(texts: FrameTexts): void {
  const notice = h('p', { class: 'notice prose', role: 'alert' }, texts.page.languageLost);
  document.querySelector('header')?.append(notice);
  setTimeout(() => notice.remove(), 10000);
}

/** With "back" the view goes by itself; the keyboard goes along, unless a control has it. A link leads to its place. */
export function follow(place: Place | undefined, isLink: boolean): void {
  if (isLink && place !== undefined) goTo(place);
  else if (document.activeElement?.matches('body, main, h2, figure')) headOf(place)?.focus({ preventScroll: true });
}

function chapterLinks(page: PageSection, state: State, followed: () => void): HTMLElement {
  const { lang } = page.values;
  const items = chapterIds.map((id) => {
    const link = h('a', { 'data-chapter': id }, chapterOf(id).title[lang]);
    // In a tab of its own it opens the page as it is then.
    const aim = (): void => {
      link.href = state.link({ at: id });
    };
    aim();
    for (const type of ['pointerdown', 'focus']) link.addEventListener(type, aim);
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      // The hash is the state, not the id of an element: the browser would look for one.
      event.preventDefault();
      page.set({ at: id });
      followed();
      goTo(id);
    });
    return h('li', {}, link);
  });
  const list = h('ol', {}, ...items);
  // In two columns where there is room.
  list.style.setProperty('--half', String(Math.ceil(items.length / 2)));
  return list;
}

// The bar stays in sight: where one is, the way to every chapter, language and theme.
function bar(texts: FrameTexts, page: PageSection, state: State): HTMLElement {
  const { lang, theme } = page.values;
  const other = languages.find((language) => language !== lang) ?? lang;
  const languageButton = button(languageNames[other], () => page.set({ lang: other }), 'button quiet');
  languageButton.id = 'language';
  languageButton.lang = languageTags[other];
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

  const list = h('nav', { id: 'chapters', popover: 'auto', class: 'chapter-list', 'aria-label': texts.page.contents });
  list.append(chapterLinks(page, state, () => list.hidePopover()));
  const opener = h('button', { type: 'button', class: 'button quiet opener', popovertarget: 'chapters' });
  opener.id = 'opener';
  opener.append(icon('list', 0, 'M4 7h16M4 12h16M4 17h16'), h('span', { class: 'here' }, texts.page.contents));
  return h(
    'header',
    { class: 'site' },
    skip,
    h(
      'div',
      { class: 'bar' },
      h('span', { class: 'mark', translate: 'no' }, 'Ropewalk'),
      opener,
      h('span', { class: 'tools' }, languageButton, themeButton),
    ),
    list,
  );
}

// Names the chapter under the bar, in the bar and in the address.
function followReading(
  texts: FrameTexts,
  page: PageSection,
  sections: readonly HTMLElement[],
  header: HTMLElement,
): () => void {
  const name = header.querySelector('.here');
  const inSight = new Set<Element>();
  const { lang } = page.values;
  let told = page.values.at;
  const note = (entries: readonly IntersectionObserverEntry[]): void => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inSight.add(target);
      else inSight.delete(target);
    }
  };
  const tell = (): void => {
    const index = sections.findIndex((section) => inSight.has(section));
    const chapter = chapterIds[index];
    const { at } = page.values;
    // A link to a figure stays one while its chapter is read.
    told = at && chapterIn(at) === chapter ? at : chapter;
    page.amend({ at: told });
    // The last one is the appendix.
    const number = sections[index + 1] ? index + 1 : 'A';
    const title = chapter && `${number} · ${chapterOf(chapter).title[lang]}`;
    if (name !== null) name.textContent = title ?? texts.page.contents;
    for (const link of header.querySelectorAll<HTMLElement>('[data-chapter]')) {
      if (link.dataset.chapter === chapter) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  };
  const observer = new IntersectionObserver(
    (entries) => {
      note(entries);
      tell();
    },
    { rootMargin: '-20% 0px -79% 0px' },
  );
  for (const section of sections) observer.observe(section);
  // A link or "back" leads elsewhere: what was seen before and is not told yet is not of that entry.
  const unsubscribe = page.subscribe(() => {
    const missed = observer.takeRecords();
    note(missed);
    if (missed.length > 0 && page.values.at === told) tell();
    told = page.values.at;
  });
  return () => {
    unsubscribe();
    observer.disconnect();
  };
}

function opening(texts: FrameTexts, page: PageSection, state: State): HTMLElement {
  // Chinese breaks lines anywhere; a title should not break inside a word.
  const title = texts.page.title.flatMap((word) => [word, h('wbr')]);
  return h(
    'div',
    { class: lookOf('opening prose') },
    h('h1', {}, ...title),
    h('p', { class: 'lede' }, texts.page.lede),
    h(
      'div',
      { class: 'first' },
      h('div', { class: 'hero' }),
      needles(texts.page.needles, texts.page.title, frequencies),
      h('p', { class: 'needles-note' }, texts.page.needles),
    ),
    h(
      'nav',
      { class: 'contents', 'aria-label': texts.page.contents },
      chapterLinks(page, state, () => undefined),
    ),
  );
}

/** The page in the document. */
export interface Page {
  /**
   * Shows it in the language of the state, with its texts: the frame at once, chapters one by one, the one being read
   * first. Resolves when all are there.
   */
  show(texts: FrameTexts, mounted?: (id: ChapterId | undefined) => void): Promise<void>;
}

// A chapter that could not be fetched; what the reader has set is in the address and survives.
function lost(texts: FrameTexts): HTMLElement {
  const again = button(texts.page.again, () => location.reload());
  return h('div', { class: 'prose' }, h('p', { class: 'notice', role: 'alert' }, texts.page.lost), again);
}

// Builds the frame around the chapters, or builds it anew. Returns the article.
function frame(texts: FrameTexts, state: State, page: PageSection, sections: readonly HTMLElement[]): HTMLElement {
  const { lang } = page.values;
  const focused = document.activeElement?.id ?? '';
  document.documentElement.lang = languageTags[lang];
  document.title = `${texts.page.title.join('')} · Ropewalk`;
  const header = bar(texts, page, state);
  const footer = h('footer', { class: 'site prose' }, h('p', {}, ...richText(texts.page.console)));
  const start = opening(texts, page, state);
  const known = document.querySelector('main');
  if (known?.firstElementChild) {
    // The chapters stay where they are until their turn comes: moving them would lay out all of them again.
    document.querySelector('header')?.replaceWith(header);
    known.firstElementChild.replaceWith(start);
    document.querySelector('footer')?.replaceWith(footer);
  }
  const main = known ?? h('main', { tabindex: -1 }, start, ...sections);
  main.setAttribute('aria-busy', 'true');
  if (known === null) document.body.replaceChildren(header, main, footer);
  if (focused !== '') document.getElementById(focused)?.focus({ preventScroll: true });
  return main;
}

/** The title and the first chapter do not wait for the core. */
export function createPage(state: State, page: PageSection, core: Coming<Ropewalk>): Page {
  let sections: HTMLElement[] = [];
  const unmounts: (() => void)[] = [];
  let unfollow = (): void => undefined;
  let latest = 0;
  let endHero = (): void => undefined;
  // Chapters on demand that somebody was near.
  const come = new Set<ChapterId>();
  addEventListener('pagehide', () => keepPlace(readingPlace(sections)));

  // Replaces chapter i by the one in its language, without moving what the reader looks at. Gives
  // up where `isLate` says that it is not wanted any more.
  async function mountChapter(
    i: number,
    texts: FrameTexts,
    lang: Language,
    reading: ReadingPlace,
    isLate: () => boolean,
  ) {
    const id = chapterIds[i];
    if (id === undefined) return;
    const root = h('div');
    const heading = h('h2', { tabindex: -1 }, chapterOf(id).title[lang]);
    const section = h('section', { id: `chapter-${id}`, lang: languageTags[lang] }, heading, root);
    const fetched = () => fetchChapter(id, lang).catch(() => undefined);
    const fill = (mount: Mount | undefined): void => {
      if (mount === undefined) root.replaceChildren(lost(texts));
      unmounts[i] = mount?.(root, state, core) ?? (() => undefined);
    };
    const waits = onDemand.includes(id) && !come.has(id);
    const mount = waits ? undefined : await fetched();
    if (i > 0) await core.come; // the first one is shown before
    const old = sections[i];
    if (old === undefined || isLate()) return;
    const wasRead = old.childElementCount > 0;
    const before = topOf(sections[reading.index]);
    unmounts[i]?.();
    section.className = lookOf('chapter');
    old.replaceWith(section);
    sections[i] = section;
    if (waits) {
      unmounts[i] = whenNear(section, async () => {
        come.add(id);
        const isLeft = watchMoves();
        const late = await fetched();
        if (sections[i] !== section) return;
        fill(late);
        await settled();
        // A link to a figure that was not there yet has led to the chapter.
        const { at } = page.values;
        if (at?.startsWith(`${id}.`) && !isLeft()) goTo(at);
      });
    } else fill(mount);
    await settled();
    if (!wasRead) return;
    if (holds(reading)) return;
    const target = i === reading.index ? -reading.into * section.offsetHeight : (before ?? 0);
    scrollBy({ top: (topOf(sections[reading.index]) ?? 0) - target, behavior: 'instant' });
  }

  // What the page has of the core besides its chapters. Without its code the head of the page stays empty.
  async function mountHero(texts: FrameTexts, isLate: () => boolean): Promise<void> {
    const made = await import('./later').catch(() => undefined);
    if (isLate()) return;
    if (made !== undefined) {
      endHero();
      const { element, end } = made.hero(texts, numbersOf(page.values.lang), state, core);
      endHero = end;
      document.querySelector('.hero')?.replaceChildren(element);
      made.bringTypeface();
    }
    const { version, simd } = (await core.come).info();
    if (!isLate()) document.querySelector('footer')?.prepend(h('p', {}, texts.page.build(version, simd)));
  }

  return {
    async show(texts, mounted = () => undefined) {
      latest += 1;
      const turn = latest;
      const { lang } = page.values;
      const isFirst = sections.length === 0;
      if (isFirst) sections = chapterIds.map((id) => h('section', { class: lookOf('chapter'), id: `chapter-${id}` }));
      const reading = readingPlace(sections);
      // What the browser would do about a changing page above the window is done here, the same in every browser.
      document.documentElement.classList.toggle('moving', !isFirst);
      rest();
      const isLate = (): boolean => turn !== latest;
      const main = frame(texts, state, page, sections);
      const place = sections[reading.index];
      if (!isFirst && place)
        scrollTo({ top: place.offsetTop + reading.into * place.offsetHeight, behavior: 'instant' });
      const order = chapterIds.map((_, i) => i);
      if (!isFirst) order.unshift(...order.splice(reading.index, 1));
      for (const [nth, i] of order.entries()) {
        rest();
        await mountChapter(i, texts, lang, reading, isLate);
        if (isLate()) return;
        mounted(chapterIds[i]);
        // The first one has been seen to; now the others may come, several at a time.
        if (nth === 0) await mountHero(texts, isLate);
        if (nth === 0)
          for (const id of chapterIds) if (!onDemand.includes(id)) fetchChapter(id, lang).catch(() => undefined);
      }
      await settled();
      if (isLate()) return;
      if (!isFirst) holds(reading);
      document.documentElement.classList.remove('moving');
      await wake();
      if (isLate()) return;
      // What woke above what is read, or above the chapter of a link, may have another height than it had at rest.
      if (!isFirst) holds(reading);
      const { at } = page.values;
      if (isFirst && !reading.isLeft() && !comesBack() && at !== undefined) goTo(at);
      unfollow();
      unfollow = followReading(texts, page, sections, document.querySelector('header') ?? main);
      main.removeAttribute('aria-busy');
    },
  };
}

/** Shows the theme of the state in the bar. */
export function showTheme(texts: FrameTexts, theme: Theme): void {
  const themeButton = document.getElementById('theme');
  if (themeButton !== null) showThemeOn(themeButton, texts, theme);
}
