// The build of the page. Formulas are rendered at build time, so that the page contains MathML and no formula library.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import temml from 'temml';
import { defineConfig, type Plugin } from 'vite';
import { firstView } from './first-view.ts';
import { chapterIds, onDemand } from './src/chapters/ids.js';
import { textInPage, textPages } from './text-pages.ts';
import { typeface } from './typeface.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Makes `import { mathml } from './name.tex'` give formulas as MathML. An empty line separates formulas; a line that
// begins with a relation, a plus or a matrix continues the formula, and wraps to a new line if there is no room.
function mathmlOf(tex: string): string {
  const set = (one: string): string => temml.renderToString(one.trim(), { displayMode: true });
  const chain = (lines: readonly string[]): string =>
    lines.length === 1 ? set(lines[0] ?? '') : `<span class="chain">${lines.map(set).join('')}</span>`;
  // The page's CSP forbids style attributes; our style sheet replaces the removed ones.
  return tex
    .split(/\n\s*\n/)
    .map((one) => chain(one.trim().split(/\n(?=[=+]|\\le\b|\\begin)/)))
    .join('')
    .replaceAll(/ style="[^"]*(display:block math|padding|text-align)[^"]*"/g, '');
}

const formulas: Plugin = {
  name: 'formulas',
  transform(tex, id) {
    if (!id.endsWith('.tex')) return;
    const mathml = mathmlOf(tex);
    if (mathml.includes('style='))
      this.error(`${id}: this formula needs a style attribute, which the page's CSP refuses: ${mathml}`);
    return { code: `export const mathml = ${JSON.stringify(mathml)};`, map: null, moduleType: 'js' };
  },
};

// Makes `import { shown } from './name.js?shown'` give the source text of each export of a file, by name, so that the
// page shows the code that it runs. The exports of imported files of the same kind are included.
const programs: Plugin = {
  name: 'programs',
  load(id) {
    const [file = '', query] = id.split('?');
    if (query !== 'shown') return;
    this.addWatchFile(file);
    const text = readFileSync(file, 'utf8');
    const [imports, entries]: [string[], string[]] = [[], []];
    for (const node of this.parse(text).body) {
      if (node.type === 'ImportDeclaration' && node.source.value.endsWith('.js')) {
        imports.push(`import { shown as from${imports.length} } from ${JSON.stringify(`${node.source.value}?shown`)};`);
      }
      if (node.type !== 'ExportNamedDeclaration' || node.declaration?.type !== 'VariableDeclaration') continue;
      const [{ id: name } = { id: undefined }] = node.declaration.declarations;
      if (name?.type !== 'Identifier') continue;
      entries.push(`${name.name}: ${JSON.stringify(text.slice(node.declaration.start, node.declaration.end))},`);
    }
    const others = imports.map((_, i) => `...from${i},`);
    const shown = ['export const shown = {', ...others, ...entries, '};'];
    return { code: [...imports, ...shown].join('\n'), map: null, moduleType: 'js' };
  },
};

// Builds the workers as further entries, so that they share the package with the page. With `new Worker(new URL(..))`
// each would contain a copy. The lab's does (`?worker&url`): it needs little of what the page has, and what it alone needs
// would come with the first figure.
function workers(): Plugin {
  const scripts = { address: '/src/chapters/worker.ts', playground: '/src/chapters/playground/worker.ts' };
  let building = false;
  const references = new Map<string, string>();
  return {
    name: 'workers',
    configResolved: ({ command }) => {
      building = command === 'build';
    },
    buildStart() {
      if (!building) return;
      for (const [name, path] of Object.entries(scripts)) {
        const chunk = name === 'address' ? 'worker' : `${name}-worker`;
        references.set(name, this.emitFile({ type: 'chunk', id: here(`.${path}`), name: chunk }));
      }
    },
    resolveId: (id) => (id === 'virtual:worker' ? '\0virtual:worker' : undefined),
    load(id) {
      if (id !== '\0virtual:worker') return;
      const addressOf = (name: string, path: string): string =>
        building ? `import.meta.ROLLUP_FILE_URL_${references.get(name)}` : `'${path}'`;
      return Object.entries(scripts)
        .map(([name, path]) => `export const ${name} = ${addressOf(name, path)};`)
        .join('\n');
    },
    // Fails the build if a worker imports code that needs a document, which workers lack.
    generateBundle(_, bundle) {
      const visit = (file: string): void => {
        const chunk = bundle[file];
        if (chunk?.type !== 'chunk') return;
        if (chunk.name === 'common') this.error(`a worker brings ${file}, which needs a document`);
        chunk.imports.forEach(visit);
      };
      for (const reference of references.values()) visit(this.getFileName(reference));
    },
  };
}

// Adds the article without its figures to the page, and the files of the other languages.
const render = (file: string): string => mathmlOf(readFileSync(file, 'utf8'));
const texts: Plugin = {
  name: 'texts',
  apply: 'build',
  transformIndexHtml: async () => [{ tag: 'noscript', children: await textInPage(render), injectTo: 'body' }],
  async generateBundle(_, bundle) {
    const styles = Object.keys(bundle)
      .filter((file) => /assets\/index-.*\.css$/.test(file))
      .map((file) => `./${file}`);
    for (const [fileName, source] of await textPages(styles, render)) {
      this.emitFile({ type: 'asset', fileName, source });
    }
  },
};

// The files that contain the texts of the page.
const dictionaries = readdirSync(here('src'), { recursive: true })
  .map(String)
  .filter((file) => /\bi18n\b.*\.ts$/.test(file))
  .map((file) => here(`src/${file}`));

// Vite's preload helper uses `window` when a chunk fails to load. Workers have no `window`, so the real error would be
// lost.
const reasons: Plugin = {
  name: 'reasons',
  transform: (code, id) =>
    id.includes('preload-helper') ? { code: code.replaceAll('window.', 'globalThis.'), map: null } : undefined,
};

// Adds a strict CSP to the page, for hosts that send no headers, and the service worker, which caches the files of this
// build for offline use. The name of its cache is a hash of the files.
const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src 'self' data:";
const offline: Plugin = {
  name: 'offline',
  apply: 'build',
  transformIndexHtml: () => [
    { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: policy }, injectTo: 'head-prepend' },
  ],
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      const files = Object.keys(bundle).filter((file) => !file.endsWith('.map'));
      const hash = createHash('sha256');
      for (const file of files) {
        const made = bundle[file];
        hash.update(made?.type === 'chunk' ? made.code : (made?.source ?? ''));
      }
      // The page uses only the deterministic build, and has its texts in its scripts; the trained model, the novel of the lab
      // and the builds with threads are large, and few want them.
      const unused = (file: string): boolean =>
        /core-relaxed.*\.wasm$|\.(html|json|safetensors|txt)$|[/](inline|shared-threaded-(build|training))-/.test(file);
      const kept = ['./', './favicon.svg', ...files.filter((file) => !unused(file)).map((file) => `./${file}`)];
      const source = readFileSync(here('src/offline/service-worker.js'), 'utf8')
        .replace('HASH', hash.digest('hex').slice(0, 12))
        .replace('FILES', JSON.stringify(kept));
      this.emitFile({ type: 'asset', fileName: 'service-worker.js', source });
    },
  },
};

// The page may have threads: see docs/threads.md.
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

// Texts of successive chapters compress better together; the first chapter's are separate, so that they load first, and
// those of the chapters that come on demand.
const later = chapterIds.slice(1).filter((id) => !onDemand.includes(id));
const half = Math.floor(later.length / 2);
const textsOf = (language: string) =>
  [later.slice(0, half), later.slice(half)].map((ids) => ({
    name: `${language}-${ids[0]}`,
    test: new RegExp(`[\\\\/](${ids.join('|')})[\\\\/]i18n[\\\\/]${language}\\.ts$`),
  }));

// What the page and its chapters share, but for what workers run.
const isCommon = (id: string): boolean =>
  /[\\/]src[\\/](?!(chapters[\\/]\w+[\\/](programs|numbers|median|threads)|work[\\/]own-threads)\.)/.test(id);

// What several chapters have, and not the first.
const isLater = (id: string): boolean =>
  /[\\/](views[\\/](field|field-group|group-tables|line-chart|dials|ticks|work-(bar|control))|figure[\\/]scorecard)\.ts$/.test(
    id,
  );

export default defineConfig({
  // Relative, so that the page works in any folder of any server.
  base: './',
  server: { headers },
  preview: { headers },
  build: {
    outDir: '../build/web',
    emptyOutDir: true,
    target: 'es2022',
    // A worker has no document for preload links, and runs the models and what has threads.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_, files, { hostId }) => (/worker|models|threads/.test(hostId) ? [] : files),
    },
    // No data: URLs, which a strict CSP may refuse.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        // A chapter's chunk has the name of its folder.
        chunkFileNames: ({ name, facadeModuleId }) => {
          const [, chapter = name] = /[\\/]chapters[\\/](\w+)[\\/]chapter\.ts$/.exec(facadeModuleId ?? '') ?? [];
          return `assets/${chapter}-[hash].js`;
        },
        codeSplitting: {
          groups: [
            // The package in a separate file: it changes less often, and its size is visible apart from the page's.
            {
              name: 'ropewalk',
              test: /^(?!.*node_modules).*[\\/]dist[\\/](external|shared-(core|errors))\.js$/,
            },
            // Calls across threads and whole models load with the playground.
            { name: 'ropewalk-worker', test: /[\\/]dist[\\/]worker\.js$/ },
            { name: 'models', test: /[\\/]dist[\\/](models|shared-(models|ids))\.js$/ },
            ...['en', 'zh'].flatMap(textsOf),
            ...['en', 'zh'].flatMap((language) =>
              onDemand.map((id) => ({
                name: `${id}-${language}`,
                test: new RegExp(`[\\\\/]${id}[\\\\/]i18n[\\\\/]${language}\\.ts$`),
              })),
            ),
            // Two chapters on demand have them.
            { name: 'recorded', test: /[\\/]recorded[\\/](course|lab)\./ },
            { name: 'compared', test: /[\\/]recorded[\\/]compared\./ },
            // Code that workers also run, which must not import code that needs a document.
            { name: 'everywhere', test: /[\\/](word-vector\.js|items\.ts)|preload-helper/, priority: 1 },
            // Code that several parts of the page share, in one file rather than a dozen.
            { name: 'common', test: (id) => isCommon(id) && !isLater(id), minShareCount: 2 },
            // After it, or it would take along what it stands on.
            { name: 'views', test: isLater },
          ],
        },
      },
    },
  },
  worker: {
    format: 'es',
    rolldownOptions: {
      output: { entryFileNames: ({ name }) => `assets/${name === 'worker' ? 'lab-worker' : name}-[hash].js` },
    },
  },
  plugins: [formulas, programs, firstView, workers(), typeface(dictionaries), reasons, texts, offline],
});
