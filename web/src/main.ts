// Starts the page: state, core, article.
import { load } from 'ropewalk';
import './styles/base.css';
import './styles/article.css';
import './styles/controls.css';
import './styles/figures.css';
import './styles/charts.css';
import './styles/heat-maps.css';
import './styles/tables.css';
import { h } from './dom';
import { dictionary, preferredLanguage } from './i18n/language';
import { keepForOffline } from './offline/register';
import { createPage, goTo, type PageSection, pageFields, showTheme } from './page';
import { State } from './state';
import { setTheme } from './theme';

const state = new State(() => [['lang', page.values.lang]]);
const page: PageSection = state.section('', pageFields(preferredLanguage()));
setTheme(page.values.theme);

async function start(): Promise<void> {
  // The build whose results are the same bits on every machine: a picture that was sent shows what its sender saw.
  const core = await load({ simd: 'deterministic' });
  // The footer tells readers that they may play with it in the console.
  Object.assign(globalThis, { rw: core });

  let shown = page.values.lang;
  const article = createPage(state, page, core);
  const { at } = page.values;
  const complete = article.show((id) => {
    if (id === at) goTo(id);
  });

  state.subscribe(() => {
    const { lang, theme } = page.values;
    setTheme(theme);
    showTheme(dictionary(lang), theme);
    if (lang === shown) return;
    shown = lang;
    void article.show();
  });
  await complete;
  keepForOffline();
}

start().catch((error: unknown) => {
  const texts = dictionary(page.values.lang).page;
  const reason = error instanceof Error ? error.message : String(error);
  document.body.replaceChildren(
    h('main', { class: 'prose' }, h('h1', {}, texts.title.join('')), h('p', {}, texts.failed), h('pre', {}, reason)),
  );
});
