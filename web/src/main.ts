// Starts the page: state, core, article.
import './styles/base.css';
import './styles/shell.css';
import './styles/article.css';
import './styles/controls.css';
import './styles/figures.css';
import './styles/words.css';
import './styles/heat-maps.css';
import './styles/tables.css';
import { fetchChapter } from './chapters/fetch';
import { chapterIds } from './chapters/ids';
import { frameTexts, languageTags, preferredLanguage } from './i18n/language';
import { keepForOffline } from './offline/register';
import { chapterIn, createPage, follow, goTo, type PageSection, pageFields, showTheme, tellLost } from './page/page';
import { h } from './ui/dom';
import { State } from './ui/state';
import { setTheme } from './ui/theme';
import { Coming } from './work/coming';
import { pause } from './work/pause';

const state = new State(() => [['lang', page.values.lang]]);
const page: PageSection = state.section('', pageFields(preferredLanguage()));
setTheme(page.values.theme);

async function start(): Promise<void> {
  // The script is here before the rest of index.html, which has the text for readers without scripts.
  while (document.body === null) await pause();
  let shown = page.values.lang;
  // What is read first comes first; the page asks for it again.
  const first = Promise.allSettled(chapterIds.slice(0, 1).map((id) => fetchChapter(id, shown)));
  const made = first.then(() => import('./work/core')).then(({ loadCore }) => loadCore());
  // The footer tells readers that they may play with it in the console.
  const core = new Coming(made.then((rw) => Object.assign(globalThis, { rw }).rw));

  let texts = await frameTexts(shown);
  const article = createPage(state, page, core);
  const { at } = page.values;
  const complete = article.show(texts, (id) => {
    if (at !== undefined && id === chapterIn(at)) goTo(at);
  });

  state.subscribe(async () => {
    const { lang, theme } = page.values;
    setTheme(theme);
    showTheme(texts, theme);
    if (lang === shown) return;
    const before = shown;
    shown = lang;
    // With "back" the browser goes where the texts of that language were once read, in a moment; the reader stays here.
    const top = scrollY;
    await pause();
    scrollTo({ top, behavior: 'instant' });
    const next = await frameTexts(lang).catch(() => undefined);
    // Meanwhile the reader may have thought of something else.
    if (shown !== lang) return;
    if (next === undefined) {
      shown = before;
      page.set({ lang: before });
      tellLost(texts);
      return;
    }
    texts = next;
    void article.show(texts);
  });
  addEventListener('popstate', ({ state: entry }) => follow(page.values.at, entry === null));
  await complete;
  keepForOffline().catch(() => undefined);
  // Where it does not come, the page stays as it is.
  const later = await import('./page/follow').catch(() => undefined);
  later?.followTextSize();
  later?.followWidth();
}

start().catch(async (error: unknown) => {
  const reason = h('pre', { lang: 'en' }, error instanceof Error ? error.message : String(error));
  document.body.replaceChildren(h('main', { class: 'prose' }, reason));
  const { lang } = page.values;
  const { page: texts } = await frameTexts(lang);
  document.documentElement.lang = languageTags[lang];
  document.title = texts.title.join('');
  reason.before(h('h1', {}, document.title), h('p', {}, texts.failed));
});
