// The article without its figures, as an HTML file for each language: for readers without scripts, and for whoever reads
// the page without running it. The contents in index.html lead there.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';
import { chapterIds } from './src/chapters/ids.js';
import { marked, raised } from './src/ui/markup.ts';

type Everything = typeof import('./src/chapters/texts.ts');

const live = { en: 'With live figures', zh: '带现场计算的图' };
const still = { en: 'The text alone', zh: '只看文字' };

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
      file: `text.${language}.html`,
      frame,
      title: escaped(frame.page.title.join('')),
      chapters: chapterIds.map((id) => ({ id, ...chapterTexts(id, language) })),
    };
  });
}

type InLanguage = Awaited<ReturnType<typeof inLanguages>>[number];

function sectionOf({ language, tag, file, frame, title, chapters }: InLanguage): string {
  const items = chapters.map(
    (each) => `<li><a href="${file}#chapter-${each.id}">${escaped(each.title ?? '')}</a></li>`,
  );
  return `<section class="opening prose" lang="${tag}"><h1>${title}</h1><p class="lede">${rich(frame.page.lede)}</p><p><a href="${file}">${still[language]}</a></p><ol>${items.join('')}</ol></section>`;
}

/** What index.html says before any script runs: what the page is about and its chapters, in each language. */
export async function contents(): Promise<string> {
  return `<main>${(await inLanguages()).map(sectionOf).join('')}</main>`;
}

/**
 * The files, one for each language, by name.
 *
 * @param styles addresses of style sheets.
 * @param render makes MathML of a .tex file.
 */
export async function textPages(
  styles: readonly string[],
  render: (file: string) => string,
): Promise<ReadonlyMap<string, string>> {
  return new Map((await inLanguages()).map((each) => [each.file, textPage(each, styles, render)]));
}

function textPage(
  { language, tag, frame, title, chapters }: InLanguage,
  styles: readonly string[],
  render: (file: string) => string,
): string {
  const sections = chapters.map(({ id, title: heading = '', texts }) => {
    const back = `<p><a href="./#lang=${language}&amp;at=${id}">${live[language]}</a></p>`;
    const body = chapterHtml(texts, formulasOf(id, render), frame.figure.pitfalls);
    return `<section class="chapter" id="chapter-${id}"><h2>${escaped(heading)}</h2>\n<div class="prose">\n${body}\n${back}\n</div></section>`;
  });
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
<main>
<div class="opening prose">
<h1>${title}</h1>
<p class="lede">${rich(frame.page.lede)}</p>
</div>
${sections.join('\n')}
</main>
</body>
</html>
`;
}
