// The article without its figures, for readers without scripts, and for whoever reads the page without running it: in one
// language in index.html, in the others in files of their own, to which it leads.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';
import { chapterIds } from './src/chapters/ids.js';
import { marked, raised } from './src/ui/markup.ts';

type Everything = typeof import('./src/chapters/texts.ts');

const inPage = 'en'; // what index.html says it is in
const live = { zh: '带现场计算的图' }; // what a file of its own calls the page

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const math = (text: string): string =>
  text
    .split(raised)
    .map((piece, i) => {
      if (i % 2 === 0) return escaped(piece);
      const tag = piece[0] === '_' ? 'sub' : 'sup';
      return `<${tag}>${escaped(piece.slice(1).replace(/^\{|\}$/g, ''))}</${tag}>`;
    })
    .join('');

function marker(piece: string): string {
  const inner = piece.slice(1, -1);
  switch (piece[0]) {
    case '*':
      return `<em>${escaped(inner)}</em>`;
    case '`':
      return `<code>${escaped(inner)}</code>`;
    case '$':
      return `<i>${math(inner)}</i>`;
    case '[': {
      const [text = '', href = ''] = inner.split('](');
      return `<a href="${escaped(href)}">${escaped(text)}</a>`;
    }
    default:
      return escaped(piece);
  }
}

const rich = (text: string): string =>
  text
    .split(marked)
    .map((piece, i) => (i % 2 === 0 ? escaped(piece) : marker(piece)))
    .join('');

const paragraphs = (texts: readonly unknown[]): string =>
  texts.map((text) => `<p>${rich(String(text))}</p>`).join('\n');

// The formulas of a chapter, by the text that explains them: what its chapter.ts says.
function formulasOf(id: string, render: (file: string) => string): Map<string, string> {
  const code = readFileSync(here(`src/chapters/${id}/chapter.ts`), 'utf8');
  const files = new Map(
    Array.from(code.matchAll(/import \{ mathml(?: as (\w+))? \} from '\.\/(.+\.tex)'/g), ([, name, file]) => [
      name ?? 'mathml',
      here(`src/chapters/${id}/${file}`),
    ]),
  );
  const made = new Map<string, string>();
  let waiting = '';
  for (const [, name = '', key] of code.matchAll(/\bformulas?\((\w+)(?:, texts\.(\w+))?/g)) {
    const file = files.get(name);
    waiting += file === undefined ? '' : render(file);
    if (key === undefined) continue;
    made.set(key, waiting);
    waiting = '';
  }
  return made;
}

// Texts of a chapter stand in its dictionary in reading order. Labels and what figures say of numbers are left out.
function chapterHtml(
  texts: Readonly<Record<string, unknown>>,
  formulas: ReadonlyMap<string, string>,
  pitfalls: string,
): string {
  const part = (key: string, value: unknown): string => {
    const formula = formulas.get(key);
    if (formula !== undefined)
      return `<div class="formula">${formula}</div>${typeof value === 'string' ? paragraphs([value]) : ''}`;
    if (typeof value === 'string') {
      if (/Title$/.test(key)) return `<h3>${rich(value)}</h3>`;
      // A label is no sentence.
      return /[.。]$/.test(value) ? paragraphs([value]) : '';
    }
    if (Array.isArray(value)) {
      if (!Array.isArray(value[0])) return paragraphs(value);
      return `<h3>${pitfalls}</h3><dl>${value.map(([claim, truth, found]) => `<dt>${rich(claim)}</dt><dd>${rich(truth)}</dd><dd>${rich(found)}</dd>`).join('\n')}</dl>`;
    }
    if (typeof value !== 'object' || value === null) return '';
    const { question, answers, explanation, caption, note } = value as Readonly<Record<string, unknown>>;
    if (Array.isArray(answers)) {
      const items = answers.map(([answer]) => `<li>${rich(answer)}</li>`).join('');
      return `${paragraphs([question])}<ul>${items}</ul>${paragraphs([explanation])}`;
    }
    if (key === 'published')
      return Object.entries(value)
        .map(([name, each]) => part(name, each))
        .join('\n');
    if (typeof caption !== 'string') return '';
    return `<p class="formula-note">${rich(caption)}</p>${typeof note === 'string' ? paragraphs([note]) : ''}`;
  };
  return Object.entries(texts)
    .map(([key, value]) => part(key, value))
    .filter(Boolean)
    .join('\n');
}

let everything: Promise<Everything> | undefined;

// Each language with its texts.
async function inLanguages() {
  everything ??= runnerImport<Everything>(here('src/chapters/texts.ts'), { configFile: false }).then(
    ({ module }) => module,
  );
  const { languages, languageTags, frameIn, chapterTexts } = await everything;
  return languages.map((language) => {
    const frame = frameIn(language);
    if (frame === undefined) throw new Error(`no texts in ${language}`);
    return {
      language,
      tag: languageTags[language],
      file: language === inPage ? './' : `text.${language}.html`,
      frame,
      title: escaped(frame.page.title.join('')),
      chapters: chapterIds.map((id) => ({ id, ...chapterTexts(id, language) })),
    };
  });
}

type InLanguage = Awaited<ReturnType<typeof inLanguages>>[number];

type Render = (file: string) => string;

function articleIn({ language, frame, title, chapters }: InLanguage, render: Render, links: string): string {
  const sections = chapters.map(({ id, title: heading = '', texts }) => {
    const body = chapterHtml(texts, formulasOf(id, render), frame.figure.pitfalls);
    const back = language === inPage ? '' : `\n<p><a href="./#lang=${language}&amp;at=${id}">${live[language]}</a></p>`;
    return `<section class="chapter" id="chapter-${id}"><h2>${escaped(heading)}</h2>\n<div class="prose">\n${body}${back}\n</div></section>`;
  });
  return `<main>
<div class="opening prose">
<h1>${title}</h1>
<p class="lede">${rich(frame.page.lede)}</p>
${links}
</div>
${sections.join('\n')}
</main>`;
}

// Where the article is in the other languages.
const linksFrom = (language: string, all: readonly InLanguage[]): string =>
  all
    .filter((each) => each.language !== language)
    .map(({ tag, file, title }) => `<p><a href="${file}" lang="${tag}" hreflang="${tag}">${title}</a></p>`)
    .join('\n');

/**
 * The article as index.html has it before any script runs.
 *
 * @param render makes MathML of a .tex file.
 */
export async function textInPage(render: Render): Promise<string> {
  const all = await inLanguages();
  const own = all.find(({ language }) => language === inPage);
  if (own === undefined) throw new Error(`no texts in ${inPage}`);
  return articleIn(own, render, linksFrom(inPage, all));
}

/**
 * The files of the other languages, by name.
 *
 * @param styles addresses of style sheets.
 * @param render makes MathML of a .tex file.
 */
export async function textPages(styles: readonly string[], render: Render): Promise<ReadonlyMap<string, string>> {
  const all = await inLanguages();
  const others = all.filter(({ language }) => language !== inPage);
  return new Map(others.map((each) => [each.file, textPage(each, all, styles, render)]));
}

function textPage(own: InLanguage, all: readonly InLanguage[], styles: readonly string[], render: Render): string {
  const { language, tag, frame, title } = own;
  return `<!doctype html>
<html lang="${tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escaped(frame.page.lede)}">
<title>${title} · Ropewalk</title>
${styles.map((href) => `<link rel="stylesheet" href="${href}">`).join('\n')}
</head>
<body>
${articleIn(own, render, linksFrom(language, all))}
</body>
</html>
`;
}
